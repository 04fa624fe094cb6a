//! What verification can find. No variant carries text of a record.

use crate::cert::CertificateError;

/// What kind of trouble an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Times that cannot be right.
    Clock,
    /// Two histories of one thing.
    Fork,
    /// Something in between is missing.
    Gap,
    /// Somebody could remove what nobody should be able to.
    Lock,
    /// Something is not what was written.
    Tampering,
    /// The end is missing.
    Truncation,
    /// Nothing that this program was given proves it.
    Unproven,
    /// It is there, and cannot be read.
    Unreadable,
}

impl Class {
    /// As reports spell it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Fork => "fork",
            Self::Gap => "gap",
            Self::Lock => "lock",
            Self::Tampering => "tampering",
            Self::Truncation => "truncation",
            Self::Unproven => "unproven",
            Self::Unreadable => "unreadable",
        }
    }
}

/// What a sound log cannot have: the verdict is "broken".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A record after the end of its stream.
    #[error("a record follows the end of its stream")]
    AfterEnd,
    /// The writer's certificate.
    #[error("{0}")]
    Certificate(CertificateError),
    /// Segments without the certificate that was stored before them.
    #[error("the writer's certificate is missing")]
    CertificateMissing,
    /// A certificate under another writer's name.
    #[error("the certificate is another writer's")]
    CertificateOther,
    /// The footer's checkpoint is not that of the records.
    #[error("the footer's checkpoint is not that of the records, or not in its one form")]
    Checkpoint,
    /// The object is not a segment's zstd frame, or its checksum does not hold.
    #[error("not one whole zstd frame, or its checksum does not hold")]
    Frame,
    /// A footer that does not fit the records.
    #[error("the footer is missing or does not fit the records")]
    Footer,
    /// A header that does not continue the stream.
    #[error(
        "the header does not continue the stream: the segment before it is not the one it names, or was changed"
    )]
    Header,
    /// An object whose name several places hold, with other bytes.
    #[error("two of the places hold different objects under this name")]
    Differs,
    /// A deletion that left the versions there.
    #[error("the object was deleted; what it held is there all the same")]
    Deleted,
    /// The event of a record is not strict JSON, or a key stands twice in it.
    #[error("the record's event is not strict JSON, or has a key twice")]
    Json,
    /// A record without what its kind needs.
    #[error("the record lacks what its kind needs")]
    Kind,
    /// A line that is not the record that must stand there.
    #[error(
        "the line is not the record that must stand there: changed, missing, repeated or out of place"
    )]
    Leaf,
    /// Locked for less time than is demanded.
    #[error("the object's lock ends sooner than is demanded")]
    LockShort,
    /// Records are missing between two segments.
    #[error("segments are missing before this one")]
    Missing,
    /// Records that another segment holds already.
    #[error("the segment begins before the one before it ends: two histories of one stream")]
    Overlap,
    /// A put-once name was written again.
    #[error("the object was written again after it was stored")]
    Rewritten,
    /// A session's records do not form one chain.
    #[error("the record does not follow the session's record before it")]
    SessionChain,
    /// A session's number twice, with different events.
    #[error("two different records have the same number in their session")]
    SessionFork,
    /// A session's numbers are not dense, though every stream is there to its end.
    #[error("records of the session are missing")]
    SessionGap,
    /// Not signed by the writer or, where recovered, the deployment.
    #[error("the checkpoint's signature does not hold")]
    Signature,
    /// The first record of a stream is not its `writer.open`.
    #[error("the stream does not begin with its opening record")]
    Start,
    /// A recovery that was not signed as one, or a signature of recovery without one.
    #[error(
        "the deployment signed a segment of a stream that was not recovered, or the writer one that was"
    )]
    Succession,
    /// Times that go back, leave the day of the segment, or contradict each other.
    #[error("the record's time goes back or leaves the day of its segment")]
    Time,
    /// In a store with locks, without one that nobody can lift.
    #[error("the object is not locked, or by a lock that somebody can lift")]
    Unlocked,
    /// Signed by a key that the trust file does not name.
    #[error("the certificate is signed by a key that the trust file does not name")]
    Untrusted,
}

impl Fault {
    /// What kind of trouble it is.
    pub fn class(self) -> Class {
        match self {
            Self::Differs | Self::Overlap | Self::SessionFork | Self::Succession => Class::Fork,
            Self::CertificateMissing | Self::Missing | Self::SessionGap => Class::Gap,
            Self::LockShort | Self::Unlocked => Class::Lock,
            Self::Time => Class::Clock,
            Self::AfterEnd
            | Self::Certificate(_)
            | Self::CertificateOther
            | Self::Checkpoint
            | Self::Deleted
            | Self::Footer
            | Self::Frame
            | Self::Header
            | Self::Json
            | Self::Kind
            | Self::Leaf
            | Self::Rewritten
            | Self::SessionChain
            | Self::Signature
            | Self::Start
            | Self::Untrusted => Class::Tampering,
        }
    }
}

/// Why something could not be told: without a fault the verdict is "could not tell".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// A record that is younger than the object that holds it.
    #[error(
        "the store got the object before the time of its last record: one of the clocks is wrong"
    )]
    Clock,
    /// There is no log.
    #[error("nothing to verify")]
    Empty,
    /// One of several places is no part of the log.
    #[error("one of the places holds no log")]
    EmptyPlace,
    /// A gap that the log itself declares.
    #[error("the log declares that a record of the session may be missing, and it is")]
    DeclaredGap,
    /// Of a version that this program does not know.
    #[error("of a newer version than this program")]
    Newer,
    /// Part of the format that this version does not check.
    #[error("seals, cosignatures and time stamps are not checked by this version")]
    NotChecked,
    /// Nothing of a stream but its certificate.
    #[error("the stream was opened, but no segment of it is there")]
    NothingStored,
    /// A stream without its end.
    #[error("the stream has no end: nothing is proved past its last record")]
    OpenEnd,
    /// The trust file asks for witnesses.
    #[error("the trust file asks for witnesses, which this version cannot check")]
    Quorum,
    /// A gap in a session that the missing end of a stream may explain.
    #[error("records of the session are missing; they may be in a stream whose end is missing")]
    SessionGap,
    /// There is no trust file.
    #[error("self-consistent, signer unknown: no trust file was given")]
    SignerUnknown,
    /// An object could not be read.
    #[error("could not be read")]
    Unreadable,
}

impl Doubt {
    /// What kind of trouble it is.
    pub fn class(self) -> Class {
        match self {
            Self::Clock => Class::Clock,
            Self::DeclaredGap | Self::SessionGap => Class::Gap,
            Self::Empty
            | Self::EmptyPlace
            | Self::NotChecked
            | Self::Quorum
            | Self::SignerUnknown => Class::Unproven,
            Self::Newer | Self::Unreadable => Class::Unreadable,
            Self::NothingStored | Self::OpenEnd => Class::Truncation,
        }
    }
}

/// What is worth knowing and changes no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// An object that the store got late: until then its times rest on the gateway's clock alone.
    #[error("the store got the object more than an hour after its last record")]
    Late,
    /// A lock that has done what it was for.
    #[error("the object's lock has ended; it could be removed now")]
    LockEnded,
    /// An admitted exchange without its outcome.
    #[error("the exchange was admitted and never settled")]
    NotSettled,
    /// A settled exchange without its admission.
    #[error("the exchange was settled and never admitted")]
    NotAdmitted,
    /// A stream that ended with its process and was recovered.
    #[error("the writer died; its stream was recovered")]
    Recovered,
    /// The same, with a torn end: at most what nobody was told of.
    #[error("the writer died; its stream was recovered and its torn end cut off")]
    RecoveredCut,
    /// An object whose name means nothing in this format.
    #[error("an object that is not part of the log")]
    Stranger,
}
