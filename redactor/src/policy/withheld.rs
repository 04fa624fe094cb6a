//! What of a policy may stand in a log: all but what may name somebody.

use super::Policy;

impl Policy {
    /// The policy without the terms of its dictionaries, the values that it ignores and its patterns: how many
    /// there were stands in their place. It searches for something else, so it is for reading only.
    #[must_use]
    pub fn withheld(&self) -> Self {
        let mut shown = self.clone();
        for dictionary in &mut shown.dictionaries {
            withhold(&mut dictionary.terms);
        }
        for rule in &mut shown.rules {
            rule.pattern = "withheld".to_owned();
        }
        withhold(&mut shown.ignore);
        shown
    }
}

fn withhold(values: &mut Vec<String>) {
    if !values.is_empty() {
        *values = vec![format!("withheld: {}", values.len())];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_name_somebody_is_counted_and_the_rest_is_as_it_was() {
        let policy: Policy = toml::from_str(
            "profile = 'strict'\nignore = ['jane.doe@corp.example', 'b@corp.example']\n\
             [labels.EMAIL]\nreply = 'allow'\n\
             [[dictionary]]\nlabel = 'PERSON'\nterms = ['Jane Doe', 'Zoë Roe', 'N. N.']\n\
             [[rule]]\nname = 'project'\nlabel = 'PROJECT'\npattern = 'JANE-[0-9]{4}'\nscore = 80\n\
             [[field]]\nkeys = ['employee_no']\nlabel = 'EMPLOYEE_ID'\n\
             [restore.tools]\nsearch = 'no-secrets'\n\
             [tenant.clinic]\nprofile = 'balanced'\n[tenant.clinic.media]\nallow = ['image/png']\n",
        )
        .unwrap();
        let text = toml::to_string(&policy.withheld()).unwrap();
        for gone in ["jane", "Jane", "JANE", "Roe", "corp.example"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
        let shown: Policy = toml::from_str(&text).unwrap();
        assert_eq!(shown.dictionaries[0].terms, ["withheld: 3"]);
        assert_eq!(shown.ignore, ["withheld: 2"]);
        // Put back, it is the same policy.
        let mut again = shown;
        again.dictionaries[0].terms = policy.dictionaries[0].terms.clone();
        again.rules[0].pattern = policy.rules[0].pattern.clone();
        again.ignore = policy.ignore.clone();
        assert_eq!(again.canonical(), policy.canonical());
        let plain = Policy::default();
        assert_eq!(plain.withheld().canonical(), plain.canonical());
    }
}
