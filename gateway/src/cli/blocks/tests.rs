//! Where blocks end, of files and of pipes.

use super::*;
use crate::cli::redaction;

/// The lengths of the blocks, which together are the text.
fn blocks(text: &str) -> Vec<usize> {
    let engine = redaction(None).expect("rules").engine;
    let mut whole = String::new();
    let mut lengths = Vec::new();
    each(text.as_bytes(), Flow::File, &engine, |block| {
        assert_eq!(block.start as usize, whole.len());
        assert_eq!(block.line as usize, whole.matches('\n').count() + 1);
        whole.push_str(block.text);
        lengths.push(block.text.len());
        Ok(())
    })
    .expect("blocks");
    assert_eq!(whole, text);
    lengths
}

#[test]
fn long_texts_are_cut_with_and_without_lines() {
    for unit in [
        "nothing to see in this line\n",
        "x",
        "words and no line end ",
        "1 ",
    ] {
        let text = unit.repeat(3 * BLOCK / unit.len());
        let lengths = blocks(&text);
        assert!(lengths.len() > 1, "{unit:?}");
        assert!(
            lengths.iter().all(|length| *length <= 3 * BLOCK),
            "{unit:?}"
        );
    }
}

/// A pipe that has so many bytes at a time, and how many were taken from it.
struct Pipe<'t> {
    text: &'t [u8],
    piece: usize,
    taken: &'t std::cell::Cell<usize>,
}

impl Read for Pipe<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = (&self.text[..self.piece.min(self.text.len())]).read(into)?;
        self.text = &self.text[read..];
        self.taken.set(self.taken.get() + read);
        Ok(read)
    }
}

/// How much was taken from the pipe when each block came, and where the block ended.
fn piped(text: &str, piece: usize) -> Vec<(usize, usize)> {
    let engine = redaction(None).expect("rules").engine;
    let (taken, mut whole, mut seen) = (std::cell::Cell::new(0), String::new(), Vec::new());
    let pipe = Pipe {
        text: text.as_bytes(),
        piece,
        taken: &taken,
    };
    each(pipe, Flow::Pipe, &engine, |block| {
        whole.push_str(block.text);
        seen.push((taken.get(), whole.len()));
        Ok(())
    })
    .expect("blocks");
    assert_eq!(whole, text);
    seen
}

#[test]
fn a_pipe_s_lines_come_as_soon_as_they_are_decided() {
    let text = "nothing to see in this line\n".repeat(300);
    let (last, rest) = piped(&text, 100)
        .split_last()
        .map(|(l, r)| (*l, r.to_vec()))
        .unwrap();
    assert!(rest.len() > 30, "{rest:?}");
    assert!(rest.iter().all(|(taken, at)| taken - at < 200), "{rest:?}");
    assert_eq!(last, (text.len(), text.len()));
    let lines = "{\"a\":1}\n".repeat(5);
    let at_once: Vec<_> = (1..=5).map(|n| (n * 8, n * 8)).collect();
    assert_eq!(piped(&lines, 8), at_once);
    // A line of which only a part has come is not cut.
    let lines = format!("x\n{{\"password\":\"{}\"}}\ny\n", "word ".repeat(2000));
    assert!(piped(&lines, 64).contains(&(lines.len(), lines.len() - 2)));
}

#[test]
fn a_key_block_without_an_end_is_cut() {
    let begin = ["-----BEGIN PRIV", "ATE KEY-----\n"].concat();
    let line = format!("{}\n", "MC4CAQAwBQYDK2Vw".repeat(4));
    let text = format!("{begin}{}", line.repeat((2 << 20) / line.len()));
    let lengths = blocks(&text);
    assert_eq!(lengths[0], LONGEST_VALUE);
    assert!(
        lengths.iter().all(|length| *length <= 3 * BLOCK),
        "{lengths:?}"
    );
}

#[test]
fn json_stays_whole_and_its_lines_stand_alone() {
    assert_eq!(blocks("{\"a\":\n1}\n"), [9]);
    assert_eq!(blocks("x\ny\n{\"a\":1}\n[2]\nz"), [4, 8, 4, 1]);
    let long = format!("[\n{}1]", "1,\n".repeat(BLOCK / 2));
    assert_eq!(blocks(&long), [long.len()]);
}

/// A pipe that pauses behind each of its pieces.
struct Pauses<'t>(Vec<&'t str>);

impl Read for Pauses<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Ok(0);
        }
        self.0.remove(0).as_bytes().read(into)
    }
}

/// The values that are found in the blocks, one after another.
fn values(engine: &Engine, input: impl Read, flow: Flow) -> Vec<String> {
    let mut values = Vec::new();
    each(input, flow, engine, |block| {
        let mut found = engine
            .find(&format!("{}{}", block.head, block.text), FIELD)
            .expect("found");
        behind(block.head, &mut found);
        let texts = found
            .iter()
            .map(|it| block.text.get(it.start..it.end).unwrap());
        values.extend(texts.map(str::to_owned));
        Ok(())
    })
    .expect("blocks");
    values
}

/// Each form of a table: what stands before the rows, a row, what sets rows apart, the end. A row
/// has its number where `#` stands.
const TABLES: &[(&str, &str, &str, &str)] = &[
    ("last_name,ssn\n", "Okonjo,123456###", "\n", "\n"),
    ("last_name,ssn\n", "Okonjo,123456###", "\n", ""),
    ("last_name;ssn\n", "Okonjo;123456###", "\n", "\n"),
    ("last_name\tssn\n", "Okonjo\t123456###", "\n", "\n"),
    ("last_name,ssn\r\n", "Okonjo,123456###", "\r\n", "\r\n"),
    (
        "note,last_name,ssn\n",
        "\"one\ntwo, three\",Okonjo,123456###",
        "\n",
        "\n",
    ),
    (
        "| last_name | ssn |\n|---|---|\n",
        "| Okonjo | 123456### |",
        "\n",
        "\n",
    ),
    (
        " last_name |    ssn\n-----------+-----------\n",
        " Okonjo    | 123456###",
        "\n",
        "\n(rows)\n",
    ),
    (
        "COPY people (last_name, ssn) FROM stdin;\n",
        "Okonjo\t123456###",
        "\n",
        "\n\\.\n",
    ),
    (
        "INSERT INTO people (last_name, ssn) VALUES\n",
        "('Okonjo', 123456###)",
        ",\n",
        ";\n",
    ),
    (
        "INSERT INTO people (\n  last_name,\n  ssn\n)\nVALUES\n",
        "(\n  'Okonjo',\n  123456###\n)",
        ",\n",
        ";\n",
    ),
];

/// A table of so many rows, and the values in it.
fn table(form: (&str, &str, &str, &str), rows: usize) -> (String, Vec<String>) {
    let number = |row: usize| format!("{:03}", 100 + row);
    let each: Vec<_> = (0..rows)
        .map(|row| form.1.replace("###", &number(row)))
        .collect();
    let values = (0..rows).flat_map(|row| ["Okonjo".to_owned(), format!("123456{}", number(row))]);
    let text = format!("{}{}{}", form.0, each.join(form.2), form.3);
    (text, values.collect())
}

#[test]
fn a_pipe_s_rows_stand_under_their_names() {
    let engine = redaction(None).expect("rules").engine;
    for form in TABLES {
        // As much as is near, and more.
        let far = CONTEXT / form.1.len() + 20;
        for rows in [1, 2, 3, 4, 5, 8, far] {
            let (text, expected) = table(*form, rows);
            let found = |pieces, flow| values(&engine, Pauses(pieces), flow);
            assert_eq!(found(vec![&text], Flow::File), expected, "{text}");
            assert_eq!(found(vec![&text], Flow::Pipe), expected, "{text}");
            let lines = text.split_inclusive('\n').collect();
            assert_eq!(found(lines, Flow::Pipe), expected, "{text}");
            if rows <= 3 {
                let bytes = text.split_inclusive(|_| true).collect();
                assert_eq!(found(bytes, Flow::Pipe), expected, "{text}");
            }
        }
    }
}

#[test]
fn names_that_fill_what_is_near_are_kept() {
    let engine = redaction(None).expect("rules").engine;
    let names: String = (0..150).map(|n| format!("  column{n:03},\n")).collect();
    let nothing = "0, ".repeat(150);
    let head = format!("INSERT INTO people (\n{names}  last_name, ssn)\nVALUES\n");
    let row = format!("({nothing}'Okonjo', 123456###)");
    let (text, expected) = table((&head, &row, ",\n", ";\n"), 9);
    let lines = text.split_inclusive('\n').collect();
    assert_eq!(values(&engine, Pauses(lines), Flow::Pipe), expected);
}
