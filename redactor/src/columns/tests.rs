//! What stands under the name of a column, and what does not.

use proptest::prelude::*;

use super::{Form, LONGEST, form_of};
use crate::rules::testing::{ENGINE, FIELD, found, nothing};

#[test]
fn a_table_that_the_text_creates_names_its_columns() {
    let create = "CREATE TABLE IF NOT EXISTS `crm`.`people` (\n  `id` int(11) NOT NULL AUTO_INCREMENT,\n  \
                  `last_name` varchar(20) DEFAULT 'x,(y)',\n  ssn decimal(9,0), -- note\n  `key` text,\n  \
                  PRIMARY KEY (`id`,`ssn`),\n  CONSTRAINT c CHECK (ssn > 1)\n) ENGINE=InnoDB;\n";
    let rows = "(1,'okafor','512483071','a'),(2,'meyer','512483072',NULL);\n";
    for insert in [
        "INSERT INTO `people` VALUES ",
        "insert into crm.people values\n",
    ] {
        let text = format!("{create}LOCK TABLES `people` WRITE;\n{insert}{rows}{insert}{rows}");
        found(
            &text,
            "US_SSN",
            &["512483071", "512483072", "512483071", "512483072"],
        );
        found(&text, "PERSON", &["okafor", "meyer", "okafor", "meyer"]);
        // What follows in another block stands under the first list, or the statement alone.
        let open = text.rfind("(2,").unwrap();
        let head = ENGINE.table_head(&text[..open]).unwrap();
        assert!(text[head.clone()].ends_with(insert.trim_end()) && head.len() < create.len() + 80);
        let whole = ENGINE.table_head(&text).unwrap();
        assert_eq!(&text[whole], create.trim_end_matches(" ENGINE=InnoDB;\n"));
    }
    let nested = format!(
        "{}{create}INSERT INTO people VALUES {rows}",
        "create table a(".repeat(200)
    );
    found(&nested, "PERSON", &["okafor", "meyer"]);
    let other = format!("{create}INSERT INTO orders VALUES (1,'okafor','512483071','a');");
    found(&other, "PERSON", &[]);
    let late = format!("INSERT INTO people VALUES (1,'okafor','512483071','a');{create}");
    found(&late, "PERSON", &[]);
}

#[test]
fn cells_are_what_their_column_says() {
    let comma = "id,last_name,ssn,dob,passport_no,api_key\n\
                 1,okafor,512483071,19900102,A0750176,q7Wm2xP9sLr4Tn8v\n\
                 2,\"de la cruz\",,1985-07-04T00:00:00,,null\n";
    for text in [
        comma.to_owned(),
        comma.replace(',', ";"),
        comma.replace(',', "\t"),
    ] {
        found(&text, "PERSON", &["okafor", "de la cruz"]);
        found(&text, "US_SSN", &["512483071"]);
        found(&text, "DATE_OF_BIRTH", &["19900102", "1985-07-04"]);
        found(&text, "PASSPORT", &["A0750176"]);
        found(&text, "API_KEY", &["q7Wm2xP9sLr4Tn8v"]);
    }
}

#[test]
fn tables_that_are_drawn_with_bars() {
    for text in [
        "| Name | SSN |\n|---|:---:|\n| Ada Lovelace | 512483071 |\n",
        " name | ssn \n------+-----\n Ada Lovelace | 512483071\n(1 row)\n",
        "+----+\n| name | ssn |\n+----+----+\n| Ada Lovelace | 512483071 |\n+---+---+\n",
        "name|ssn\nAda Lovelace|512483071",
    ] {
        found(text, "US_SSN", &["512483071"]);
        found(text, "PERSON", &["Ada Lovelace"]);
    }
}

#[test]
fn lists_of_sql() {
    let text = "INSERT INTO crm.people (id, \"last_name\", `ssn`, dob, address) VALUES\n\
                (1, 'O''Neil', '512483071', '1990-01-02', '12 Elm (rear)'),\n\
                (2, lower('X'), 512483072, NULL, N'4 Oak Row');";
    found(text, "US_SSN", &["512483071", "512483072"]);
    found(text, "DATE_OF_BIRTH", &["1990-01-02"]);
    found(text, "PERSON", &["O''Neil"]);
    found(text, "ADDRESS", &["12 Elm (rear)", "4 Oak Row"]);
    let copy = "COPY public.people (id, ssn, surname) FROM stdin;\n7\t512483071\tokafor\n\\.\n";
    found(copy, "US_SSN", &["512483071"]);
    found(copy, "PERSON", &["okafor"]);
    let script =
        "INSERT [dbo].[People] ([Id], [LastName], [SSN]) VALUES (7, N'okafor', N'512483071')\n";
    found(script, "US_SSN", &["512483071"]);
    found(script, "PERSON", &["okafor"]);
    // A row too long to be read ends nothing, and a backslash may be one.
    let note = "word ".repeat(400);
    let long = format!(
        "INSERT INTO t (id, ssn, note) VALUES (1,'512483071','{note}'),\n(2,'512483072','x'),(3, '512483073', 'y');"
    );
    found(&long, "US_SSN", &["512483071", "512483072", "512483073"]);
    let slash =
        "INSERT INTO t (id, path, ssn) VALUES (1,'C:\\','512483071'),(2,'D:\\','512483072');";
    found(slash, "US_SSN", &["512483071", "512483072"]);
    found(
        "UPDATE p SET ssn = '512483071' WHERE id = 4",
        "US_SSN",
        &["512483071"],
    );
}

#[test]
fn a_key_of_json_is_such_a_name() {
    let under = |key, text: &'static str| {
        let field = crate::Field {
            key: Some(key),
            ..FIELD
        };
        let found = ENGINE.find(text, field).unwrap();
        found
            .first()
            .map(|f| (f.label.as_str(), &text[f.start..f.end]))
    };
    assert_eq!(
        under("dob", "19900102"),
        Some(("DATE_OF_BIRTH", "19900102"))
    );
    assert_eq!(
        under("address_line_1", " 4 Oak Row"),
        Some(("ADDRESS", "4 Oak Row"))
    );
    for (key, text) in [
        ("address", "0x7fff 12"),
        ("address", "host-7:8080"),
        ("date", "19900102"),
    ] {
        assert_eq!(under(key, text), None, "{key}: {text}");
    }
}

#[test]
fn a_name_is_a_person_s_where_the_row_is() {
    found(
        "name,email\nAda Lovelace,a@example.org\n",
        "PERSON",
        &["Ada Lovelace"],
    );
    for text in [
        "id,name,count,status\n1,Blue Widget,512483071,active\n2,main.rs,7,ok\n",
        "name,version\nblue green,1.2.3\n",
        "host,address,port\nweb,0x7fff,80\n",
        "token,count\nhello,512483071\n",
        "name,pass\ncheck,PASSED\n",
        "one, two\nso, yes\n",
        "SELECT id, last_name\nFROM people, orders\n",
        "title,\nlast_name,\ndescr,\nscore,\n",
        "def f(id, last_name,\nhost, port,\n",
        "INSERT INTO t (id, total) VALUES (1, 512483071)",
    ] {
        nothing(text);
    }
}

#[test]
fn rows_of_another_width_are_passed_over() {
    let text = "last_name,note\nokafor,1\nmensah,2,c\nnwosu,3\n\nadeyemi,4\n";
    found(text, "PERSON", &["okafor", "nwosu"]);
    nothing("a,last_name\nx,1,okafor\n");
}

#[test]
fn a_row_waits_for_its_end_and_no_longer() {
    let head = "id,ssn,note\n";
    let row = "1,512483071,";
    let at = |text: &str| ENGINE.undecided(text, FIELD);
    assert_eq!(at(&format!("{head}{row}")), head.len());
    let long = format!("{head}{row}{}", "word ".repeat(400));
    assert!(at(&long) > long.len() - 100, "{}", at(&long));
}

#[test]
fn the_names_of_an_unfinished_table_are_told() {
    let head = |text| super::find(text).head;
    assert_eq!(head("x\n\nid,ssn\n1,2\n"), Some(3..10));
    assert_eq!(head("id,ssn\n1,2\n\n"), None);
    assert_eq!(head("id,count\n1,2\n"), None);
    let insert = "INSERT INTO t (a, ssn) VALUES (1, 2),\n";
    assert_eq!(head(insert), Some(7..29));
    assert_eq!(head("INSERT INTO t (a, ssn) VALUES (1, 2);\n"), None);
}

proptest! {
    /// However a text is cut, what was settled stays as it was found.
    #[test]
    fn settled_rows_stay(cells in proptest::collection::vec(
        prop_oneof![
            Just("512483071".to_owned()), Just("\"a,\nb\"".to_owned()), Just("\"x".to_owned()),
            Just("okafor".to_owned()), Just("ssn".to_owned()), Just("last_name".to_owned()),
            Just("INSERT INTO t (ssn, id) VALUES (".to_owned()), Just("'a''b'".to_owned()),
            Just("), (".to_owned()), "[a-z0-9 '\"|]{0,6}"
        ].prop_flat_map(|cell| {
            let marks = vec![",", ",", "\n", "\n", ";", "|", "\t", "\n\n", "\n---|---\n"];
            proptest::sample::select(marks).prop_map(move |mark| format!("{cell}{mark}"))
        }),
        1..24,
    )) {
        let text = format!("ssn,last_name\n{}", cells.concat());
        let whole = ENGINE.find(&text, FIELD).unwrap();
        for (split, _) in text.char_indices() {
            let head = &text[..split];
            let settled = ENGINE.undecided(head, FIELD);
            let before = |findings: &[crate::Finding]| -> Vec<crate::Finding> {
                findings.iter().filter(|f| f.start < settled).copied().collect()
            };
            let then = before(&ENGINE.find(head, FIELD).unwrap());
            prop_assert_eq!(before(&whole), then, "{:?} settled {} of {:?}", head, settled, text);
        }
    }
}

/// As [`form_of`], byte by byte.
fn plain_form_of(line: &str) -> Option<Form> {
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0), (b'|', 0)];
    let mut run = 0;
    for byte in line.bytes() {
        run += 1;
        let part = byte.is_ascii_alphanumeric() || byte >= 0x80 || b" \r\n".contains(&byte);
        if let Some((_, count)) = counts.iter_mut().find(|(mark, _)| *mark == byte) {
            (*count, run) = (*count + 1, 0);
        } else if run > 50 || !(part || b"_-./()#'\"`*&?%".contains(&byte)) {
            return None;
        }
    }
    let [apart @ .., (_, bars)] = counts;
    match apart.into_iter().max_by_key(|(_, count)| *count)? {
        _ if line.len() > LONGEST => None,
        _ if bars > 0 => Some(Form::Barred),
        (_, 0) => None,
        (delimiter, _) => Some(Form::Apart(delimiter)),
    }
}

proptest! {
    #[test]
    fn lines_have_the_form_that_their_bytes_say(
        line in "([a-zé0-9 ]{0,55}[,;|\t]?){1,4}|[ -~\t]{0,60}|[a-z,]{0,8}[\u{0}-\u{7f}]",
    ) {
        prop_assert_eq!(form_of(&line, 0..line.len()), plain_form_of(&line));
    }
}
