//! Where a log is: folders, and buckets of S3.

use std::path::{Path, PathBuf};

use gatehouse_ledger::{
    DEFAULT_RETENTION_DAYS,
    clock::{Clock, SystemClock},
    store::{Dir, Fetcher, Joined},
    verify::Locks,
};

use crate::{apart::apart, cli::Failure, export::Recording};

/// The places of one log.
#[derive(clap::Args)]
pub(crate) struct Places {
    /// Where the log is: a folder (`ledger/` of a data directory, or a copy of a bucket's prefix), or
    /// s3://BUCKET/PREFIX. Several, such as those of replicas, are read as one log.
    #[arg(value_name = "PLACE", required = true)]
    pub(crate) places: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

/// How buckets are reached. Credentials come from the environment, a profile, or the machine.
#[derive(clap::Args)]
pub(crate) struct Reach {
    /// The bucket's region, where the environment (AWS_REGION) does not say it.
    #[arg(long, value_name = "REGION")]
    pub(crate) region: Option<String>,
    /// Another endpoint of S3 than the region's own.
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint: Option<String>,
    /// The account that must own the bucket.
    #[arg(long, value_name = "ACCOUNT")]
    pub(crate) expected_owner: Option<String>,
}

/// What is demanded of a bucket's locks.
#[derive(clap::Args)]
pub(crate) struct Demanded {
    /// In a bucket: for how many days each object must have been locked (COMPLIANCE) when it was
    /// stored. 0 demands no lock, and proves nothing about who could have removed what.
    #[arg(long, value_name = "DAYS", default_value_t = DEFAULT_RETENTION_DAYS)]
    pub(crate) retention_days: u32,
}

impl Demanded {
    /// As of now.
    pub(crate) fn locks(&self) -> Locks {
        Locks {
            days: self.retention_days,
            now_us: Some(SystemClock::new().now().unix_us),
        }
    }
}

impl Places {
    /// The log in all of them.
    pub(crate) fn open(&self) -> Result<Box<dyn Fetcher>, Failure> {
        if let [place] = self.places.as_slice() {
            return open(place, &self.reach);
        }
        let places = self.places.iter().map(|place| open(place, &self.reach));
        Ok(Box::new(Joined::new(places.collect::<Result<_, _>>()?)))
    }
}

impl Places {
    /// Nothing may be written into them: neither at `targets`, nor a record of it.
    pub(crate) fn apart(
        &self,
        targets: impl IntoIterator<Item = PathBuf>,
        recording: &Recording,
    ) -> Result<(), Failure> {
        let places = self.places.iter().map(PathBuf::as_path);
        apart(places, targets.into_iter().chain(recording.folders()))
    }
}

impl Reach {
    /// The options again, as a shell would take their values unquoted.
    pub(crate) fn options(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let options = [
            ("--region", &self.region),
            ("--endpoint", &self.endpoint),
            ("--expected-owner", &self.expected_owner),
        ];
        options
            .map(|(name, value)| (name, value.as_deref()))
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
    }
}

/// Whether a place is a bucket.
pub(crate) fn is_bucket(place: &Path) -> bool {
    place.to_string_lossy().starts_with("s3://")
}

/// The log at one place.
pub(crate) fn open(place: &Path, reach: &Reach) -> Result<Box<dyn Fetcher>, Failure> {
    if is_bucket(place) {
        return bucket(place, reach);
    }
    Ok(Box::new(folder(place)?))
}

/// A folder that is there and can be looked into.
pub(crate) fn folder(place: &Path) -> Result<Dir, Failure> {
    match std::fs::read_dir(place) {
        Ok(_) => Ok(Dir::new(place)),
        Err(error) => Err(Failure::Read(format!("{}: {error}", place.display()))),
    }
}

#[cfg(feature = "aws")]
fn bucket(place: &Path, reach: &Reach) -> Result<Box<dyn Fetcher>, Failure> {
    use gatehouse_ledger::store::{Bucket, S3};

    let bucket = place.to_str().and_then(Bucket::of_place);
    let mut bucket = bucket.ok_or_else(|| {
        let place = place.display();
        Failure::Usage(format!("{place}: not a bucket such as s3://BUCKET/PREFIX"))
    })?;
    bucket.region.clone_from(&reach.region);
    bucket.endpoint.clone_from(&reach.endpoint);
    bucket.expected_owner.clone_from(&reach.expected_owner);
    let wrong = |error| Failure::Read(format!("{}: {error}", place.display()));
    Ok(Box::new(S3::reader(bucket).map_err(wrong)?))
}

#[cfg(not(feature = "aws"))]
fn bucket(_: &Path, _: &Reach) -> Result<Box<dyn Fetcher>, Failure> {
    Err(Failure::Usage(
        "this build reads folders only; copy the bucket's prefix into one".into(),
    ))
}
