//! Folders of a log that could not be read. What is missing may be in them, so that it is missing breaks
//! nothing; what is there is checked as always.

use std::collections::BTreeSet;

use super::Fault;
use crate::names::Name;

/// Their names, as those of objects in them begin.
#[derive(Default)]
pub(super) struct Hidden(BTreeSet<String>);

impl Hidden {
    /// Whether it is new: a log is listed more than once.
    pub(super) fn add(&mut self, folder: &str) -> bool {
        self.0.insert(folder.to_owned())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, folder: &str) -> bool {
        self.0.contains(folder)
    }

    /// Whether records may be in one of them.
    pub(super) fn may_have_records(&self) -> bool {
        self.any(&|folder| folder == "log" || folder.starts_with("log/"))
    }

    /// Whether certificates may be in one of them.
    pub(super) fn may_have_certificates(&self) -> bool {
        self.any(&is_of_certificates)
    }

    /// Whether anything of the stream may be in one of them.
    pub(super) fn may_have_stream(&self, writer: &str) -> bool {
        self.any(&|folder| is_of_certificates(folder) || is_of_stream(folder, writer))
    }

    fn any(&self, has: &dyn Fn(&str) -> bool) -> bool {
        self.0.iter().any(|folder| has(folder))
    }

    /// Whether what is missing at `place` may be in one of them.
    pub(super) fn may_have(&self, place: &str, what: Fault) -> bool {
        match what {
            Fault::CertificateMissing => self.may_have_certificates(),
            Fault::Missing | Fault::StreamCut => self.any(&|folder| is_of_stream(folder, place)),
            Fault::SealMissing => self.any(&|folder| is_of_seals(folder, place)),
            Fault::StreamMissing => self.may_have_stream(place),
            _ => false,
        }
    }
}

fn is_of_certificates(folder: &str) -> bool {
    folder == "cert"
}

/// `place` is a log of seals, or a time stamp on one of these.
fn is_of_seals(folder: &str, place: &str) -> bool {
    let log = match Name::parse(place) {
        Name::Stamp { log, .. } => log,
        _ => place.to_owned(),
    };
    folder == "seal" || folder.strip_prefix("seal/") == Some(&log)
}

/// `place` is a stream, or a segment of one. Of which days it has segments is not known.
fn is_of_stream(folder: &str, place: &str) -> bool {
    let writer = match Name::parse(place) {
        Name::Segment { writer, .. } => writer,
        _ => place.to_owned(),
    };
    let mut parts = folder.split('/');
    let (first, _day, of) = (parts.next(), parts.next(), parts.next());
    let of = of.map(|part| part.strip_prefix("p_writer="));
    first == Some("log") && of.is_none_or(|of| of == Some(writer.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_where() {
        let writer = format!("20261129-prod-{}", "0".repeat(32));
        let segment = format!("log/p_day=2026-11-29/p_writer={writer}/{:020}.jsonl.zst", 7);
        let may = |folder: &str, place: &str, what| {
            let mut hidden = Hidden::default();
            assert!(hidden.is_empty());
            hidden.add(folder);
            hidden.may_have(place, what)
        };
        let own = format!("log/p_day=2026-11-29/p_writer={writer}");
        for folder in ["log", "log/p_day=2026-11-28", &own] {
            assert!(may(folder, &segment, Fault::Missing), "{folder}");
            assert!(may(folder, &writer, Fault::StreamCut));
            assert!(may(folder, &writer, Fault::StreamMissing));
            assert!(!may(folder, &segment, Fault::CertificateMissing));
            assert!(!may(folder, &segment, Fault::Leaf));
        }
        let other = own.replace("prod", "test");
        for folder in [&other, "seal", "tsa", "logs"] {
            assert!(!may(folder, &segment, Fault::Missing), "{folder}");
        }
        assert!(may("cert", &segment, Fault::CertificateMissing));
        assert!(may("cert", &writer, Fault::StreamMissing));
        assert!(may("seal", "prod", Fault::SealMissing));
        assert!(may("seal/prod", "prod", Fault::SealMissing));
        assert!(!may("seal/test", "prod", Fault::SealMissing));
        let stamp = "tsa/prod/2026-11-29.tsr";
        assert!(may("seal/prod", stamp, Fault::SealMissing));
        assert!(!may("seal/test", stamp, Fault::SealMissing));
        for (folder, records, certificates) in [
            ("log", true, false),
            (&own, true, false),
            ("cert", false, true),
            ("logs", false, false),
            ("tsa", false, false),
        ] {
            let mut hidden = Hidden::default();
            hidden.add(folder);
            assert!(hidden.has(folder) && !hidden.has("x"));
            assert_eq!(hidden.may_have_records(), records, "{folder}");
            assert_eq!(hidden.may_have_certificates(), certificates, "{folder}");
            let of_stream = hidden.may_have_stream(&writer);
            assert_eq!(of_stream, records || certificates, "{folder}");
        }
    }
}
