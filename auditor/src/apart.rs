//! What is given out must not lie in what is read: a log, or its payloads, that the auditor writes into is
//! another than the one that was verified.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
};

use crate::{cli::Failure, place::is_bucket};

/// Nothing is written at `targets`, which need not be there, if one of them is one of `places` or lies in it.
///
/// # Errors
/// One of them is, or does.
pub(crate) fn apart<'p>(
    places: impl IntoIterator<Item = &'p Path>,
    targets: impl IntoIterator<Item = PathBuf>,
) -> Result<(), Failure> {
    let places = places.into_iter().filter(|place| !is_bucket(place));
    // One that is not there, or not to be looked at, is told when it is opened.
    let places = places.filter_map(|place| Some((place, same(place)?)));
    let places: Vec<_> = places.collect();
    for target in targets {
        let wrong = |error: io::Error| Failure::Usage(format!("{}: {error}", target.display()));
        let resolved = resolved(&target).map_err(wrong)?;
        let folders: Vec<_> = resolved.ancestors().filter_map(same).collect();
        if let Some((place, _)) = places.iter().find(|(_, id)| folders.contains(id)) {
            let (target, place) = (target.display(), place.display());
            return Err(Failure::Usage(format!(
                "{target}: lies in {place}, which is only read: give a place outside of it"
            )));
        }
    }
    Ok(())
}

/// What a folder or a file is, by whatever name: device and number.
fn same(path: &Path) -> Option<(u64, u64)> {
    let data = fs::metadata(path).ok()?;
    Some((data.dev(), data.ino()))
}

/// Where a path leads, links followed, as far as it is there: what is not cannot be a link.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut resolved = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        if part == Component::ParentDir {
            resolved.pop();
            continue;
        }
        resolved.push(part);
        if let Ok(there) = resolved.canonicalize() {
            resolved = there;
        }
    }
    Ok(resolved)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_lies_in_a_place_by_whatever_name() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("log/seal")).unwrap();
        fs::create_dir(at("beside")).unwrap();
        symlink("log", at("link")).unwrap();
        symlink("../log/seal", at("beside/deep")).unwrap();
        let (log, link) = (at("log"), at("link"));
        let is_apart = |target: &str| {
            let by = [&log, &link].map(|place| apart([place.as_path()], [at(target)]).is_ok());
            assert_eq!(by[0], by[1], "{target}");
            by[0]
        };
        for target in [
            "log",
            "log/new",
            "log/new/er",
            "log/seal/x",
            "link",
            "link/new",
            "beside/deep/x",
            "beside/../log/x",
            "new/../log/x",
            "new/../link/x",
            "log/../beside/deep",
        ] {
            assert!(!is_apart(target), "{target}");
        }
        for target in [
            "new",
            "beside/new",
            "log2",
            "log/../new",
            "link/../new",
            "beside/deep/../../new",
        ] {
            assert!(is_apart(target), "{target}");
        }
        // A bucket is no folder, and what is not there holds nothing.
        let bucket = Path::new("s3://bucket/log");
        assert!(apart([bucket, &at("gone")], [at("log/x"), at("gone/x")]).is_ok());
    }
}
