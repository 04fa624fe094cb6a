//! Rows of a table whose names stand in an earlier block.

use gatehouse_redactor::{Asked, Finder, Finding, ScanError};

/// Searches a text as if the names of the columns stood before it.
pub(super) struct Headed<'f> {
    pub(super) finder: &'f dyn Finder,
    pub(super) head: &'f str,
}

impl Finder for Headed<'_> {
    fn gathers(&self) -> bool {
        self.finder.gathers()
    }

    fn find_all(&self, texts: &[Asked<'_>]) -> Result<Vec<Vec<Finding>>, ScanError> {
        if self.head.is_empty() {
            return self.finder.find_all(texts);
        }
        let headed: Vec<String> = texts
            .iter()
            .map(|asked| format!("{}{}", self.head, asked.text))
            .collect();
        let asked: Vec<Asked<'_>> = headed
            .iter()
            .zip(texts)
            .map(|(text, asked)| Asked { text, ..*asked })
            .collect();
        let mut found = self.finder.find_all(&asked)?;
        for findings in &mut found {
            behind(self.head, findings);
        }
        Ok(found)
    }
}

/// Leaves out what stands in the head, and counts from behind it. Of what reaches over its end, the
/// part behind it stays.
pub(super) fn behind(head: &str, findings: &mut Vec<Finding>) {
    findings.retain(|finding| finding.end > head.len());
    for finding in findings {
        finding.start = finding.start.saturating_sub(head.len());
        finding.end -= head.len();
    }
}
