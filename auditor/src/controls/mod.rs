//! Controls: SQL files that say what is tested, over which population, and what an exception is.

mod allow;
mod command;
mod fixture;
mod parse;
mod trial;

use std::{fs, path::Path};

pub(crate) use command::{Arguments, run};

use gatehouse_envelope::small_file;

use crate::cli::Failure;
use parse::parse;
use trial::trial;

/// File name, text, and fixtures of a control.
macro_rules! built_in {
    ($id:literal) => {
        (
            concat!($id, ".sql"),
            include_str!(concat!("../../../policies/controls/", $id, ".sql")),
            include_str!(concat!(
                "../../../policies/controls/fixtures/",
                $id,
                ".json"
            )),
        )
    };
}

/// The controls that the binary carries; `--controls` takes others instead.
const BUILT_IN: [(&str, &str, &str); 14] = [
    built_in!("AL-01"),
    built_in!("AL-02"),
    built_in!("AL-06"),
    built_in!("AL-10"),
    built_in!("BU-04"),
    built_in!("KM-03"),
    built_in!("RD-01"),
    built_in!("RD-02"),
    built_in!("RD-12"),
    built_in!("SE-01"),
    built_in!("SE-02"),
    built_in!("SE-03"),
    built_in!("SE-05"),
    built_in!("SE-07"),
];

/// A control.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    pub(crate) id: String,
    pub(crate) title: String,
    /// SOC 2 trust services criteria.
    pub(crate) tsc: String,
    /// ISO/IEC 27001:2022 Annex A.
    pub(crate) iso: String,
    /// 1 blocks a clean statement, 2 is to be explained, 3 is an observation.
    pub(crate) severity: u8,
    /// What it supports in the user's own control.
    pub(crate) supports: String,
    /// Why there may be nothing to test, in a house that has no use for it; none if there must be.
    pub(crate) optional: Option<String>,
    pub(crate) remediation: String,
    pub(crate) population: String,
    pub(crate) exceptions: String,
    /// The file as it is.
    pub(crate) text: String,
    /// The fixtures' file as it is, if there is one.
    fixtures: Option<String>,
}

/// The controls of a folder, or those built in, in the order of their ids.
pub(crate) fn load(folder: Option<&Path>) -> Result<Vec<Control>, Failure> {
    let mut controls = Vec::new();
    match folder {
        None => {
            for (file, text, fixtures) in BUILT_IN {
                controls.push(control(file, text, Some(fixtures.to_owned()))?);
            }
        }
        Some(folder) => read(folder, &mut controls)?,
    }
    controls.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(controls)
}

fn read(folder: &Path, controls: &mut Vec<Control>) -> Result<(), Failure> {
    let wrong =
        |path: &Path, error: std::io::Error| Failure::Usage(format!("{}: {error}", path.display()));
    for entry in fs::read_dir(folder).map_err(|error| wrong(folder, error))? {
        let path = entry.map_err(|error| wrong(folder, error))?.path();
        if path.extension().is_none_or(|extension| extension != "sql") {
            continue;
        }
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let text = small_file::text(&path).map_err(|error| wrong(&path, error))?;
        let fixtures = folder.join("fixtures").join(file.replace(".sql", ".json"));
        let fixtures = match small_file::text(&fixtures) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(wrong(&fixtures, error)),
        };
        controls.push(control(&file, &text, fixtures)?);
    }
    if controls.is_empty() {
        return Err(Failure::Usage(format!(
            "{}: no control in it",
            folder.display()
        )));
    }
    Ok(())
}

/// A control that is fit to be run: whole, portable, and named as its file.
fn control(file: &str, text: &str, fixtures: Option<String>) -> Result<Control, Failure> {
    let wrong = |fault: String| Failure::Usage(format!("{file}: {fault}"));
    let mut control = parse(text).map_err(wrong)?;
    if file != format!("{}.sql", control.id) {
        return Err(wrong("the file is not named as its id".into()));
    }
    for (part, sql) in [
        ("population", &control.population),
        ("exceptions", &control.exceptions),
    ] {
        allow::check(sql).map_err(|fault| wrong(format!("{part}: {fault}")))?;
    }
    control.fixtures = fixtures;
    Ok(control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_carries_what_the_folder_holds() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/controls");
        let ids = |controls: &[Control]| {
            let ids: Vec<String> = controls.iter().map(|c| c.id.clone()).collect();
            ids
        };
        let (ours, there) = (load(None).unwrap(), load(Some(&folder)).unwrap());
        assert_eq!(ids(&ours), ids(&there));
        assert!(ours.iter().zip(&there).all(|(a, b)| a.text == b.text));
    }
}
