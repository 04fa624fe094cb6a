"""The controls' files on a second engine: DuckDB must give the rows that SQLite gives, and the numbers
that the fixtures ask for. What passes here and on the auditor's list of functions runs on Trino too."""

import json
import pathlib
import sqlite3

import duckdb
import pytest

CONTROLS = pathlib.Path(__file__).parents[3] / "policies" / "controls"
TABLES = (CONTROLS / "views" / "tables.sql").read_text()
FILES = sorted(CONTROLS.glob("*.sql"))
CASES = ["pass", "fail", "empty", "gap"]
GAPS = "SELECT count(*) FROM checks WHERE name = 'gap'"


def queries(path):
    _, rest = path.read_text().split("\n-- population\n")
    population, exceptions = rest.split("\n-- exceptions\n")
    return population.strip().rstrip(";"), exceptions.strip().rstrip(";")


def fill(connection, case):
    for table in ("records", "labels", "checks"):
        for row in case.get(table, []):
            names, marks = ", ".join(row), ", ".join("?" * len(row))
            connection.execute(
                f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values())
            )
    return connection


def outcome(population, exceptions, gaps):
    if exceptions:
        return "fail"
    if gaps:
        return "gap"
    return "pass" if population else "empty"


def engines(case):
    lite = sqlite3.connect(":memory:")
    lite.executescript(TABLES)
    duck = duckdb.connect(":memory:")
    duck.execute(TABLES)
    return fill(lite, case), fill(duck, case)


def rows(connection, query):
    return sorted(map(tuple, connection.execute(query).fetchall()), key=repr)


def test_there_are_controls():
    assert len(FILES) == 14


def fixtures(path):
    return json.loads((CONTROLS / "fixtures" / f"{path.stem}.json").read_text())


def bounded(connection, query, case):
    """As the auditor puts the period around a query."""
    if "from_us" not in case:
        return query
    names = {it[0] for it in connection.execute(query).description}
    first, last = ("first_us", "last_us") if "first_us" in names else ("ts_us", "ts_us")
    bounds = f"{last} >= {case['from_us']} AND {first} < {case['to_us']}"
    return f"SELECT * FROM ({query}) AS q WHERE {bounds}"


def test_every_control_has_its_cases():
    for path in FILES:
        assert set(CASES) <= set(fixtures(path))


@pytest.mark.parametrize("path, name", [(path, name) for path in FILES for name in fixtures(path)],
                         ids=lambda it: getattr(it, "stem", it))
def test_both_engines_agree_with_the_fixture(path, name):
    case = fixtures(path)[name]
    lite, duck = engines(case)
    found = []
    for query in queries(path):
        query = bounded(lite, query, case)
        assert rows(lite, query) == rows(duck, query)
        found.append(len(rows(duck, query)))
    assert found == [case["population"], case["exceptions"]]
    gaps = duck.execute(GAPS).fetchone()[0]
    assert outcome(found[0], found[1], gaps) == name.partition("_")[0]
