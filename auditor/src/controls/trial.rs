//! `controls test`: every control on its own fixtures.

use super::{Control, fixture};
use crate::{cli::Failure, scan::test};

/// Runs a control on its cases; gives what does not fit, nothing if all is well.
pub(crate) fn trial(control: &Control) -> Result<Vec<String>, Failure> {
    let Some(fixtures) = &control.fixtures else {
        return Ok(vec!["has no fixtures".to_owned()]);
    };
    let mut faults = Vec::new();
    let cases = match fixture::cases(fixtures) {
        Ok(cases) => cases,
        Err(Failure::Usage(fault)) => return Ok(vec![fault]),
        Err(other) => return Err(other),
    };
    for (name, wanted) in cases {
        let case = match fixture::case(fixtures, &name) {
            Ok(case) => case,
            Err(Failure::Usage(fault)) => {
                faults.push(fault);
                continue;
            }
            Err(other) => return Err(other),
        };
        let tested = test(&case.database, control, case.period)?;
        let said = (tested.population, tested.exceptions.count);
        if tested.outcome != wanted {
            let (got, wanted) = (tested.outcome.word(), wanted.word());
            faults.push(format!("fixture `{name}`: {got} instead of {wanted}"));
        } else if said != (case.population, case.exceptions) {
            faults.push(format!(
                "fixture `{name}`: population {} and exceptions {} instead of {} and {}",
                said.0, said.1, case.population, case.exceptions
            ));
        }
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controls::load;

    #[test]
    fn every_control_says_what_its_fixtures_ask() {
        for control in load(None).unwrap() {
            assert_eq!(trial(&control).unwrap(), [""; 0], "{}", control.id);
        }
    }

    #[test]
    fn a_control_without_its_fixtures_is_refused() {
        let mut control = load(None).unwrap().remove(0);
        control.fixtures = None;
        assert_eq!(trial(&control).unwrap().len(), 1);
        control.fixtures = Some("{}".into());
        assert_eq!(trial(&control).unwrap().len(), 4);
        for odd in ["[]", r#"{"fial": {}}"#, r#"{"fial_twice": {}}"#] {
            control.fixtures = Some(odd.into());
            assert_eq!(trial(&control).unwrap().len(), 1, "{odd}");
        }
    }

    #[test]
    fn a_control_that_finds_nothing_is_refused() {
        for mut control in load(None).unwrap() {
            let nothing = " FROM records WHERE kind = 'no such kind'";
            control.exceptions = format!("SELECT ts_us{nothing}");
            assert!(!trial(&control).unwrap().is_empty(), "{}", control.id);
        }
    }
}
