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
    /// A proof that does not lead from what is disclosed to the checkpoint.
    #[error(
        "the proof does not lead to its checkpoint: what it stands beside was changed, or is of another place"
    )]
    Inclusion,
    /// A record without what its kind needs.
    #[error("the record lacks what its kind needs")]
    Kind,
    /// A line that is not the record that must stand there.
    #[error(
        "the line is not the record that must stand there: changed, missing, repeated or out of place"
    )]
    Leaf,
    /// A cosignature that does not hold, or is not on the seal that it is filed under.
    #[error("the witness's cosignature does not hold, or is not on this seal")]
    Cosignature,
    /// Locked for less time than is demanded.
    #[error("the object's lock ends sooner than is demanded")]
    LockShort,
    /// Records are missing between two segments.
    #[error("segments are missing before this one")]
    Missing,
    /// A record outside of the chain that is not about the disclosed session.
    #[error("the record is not one about this session, outside of its chain")]
    Outside,
    /// Records that another segment holds already.
    #[error("the segment begins before the one before it ends: two histories of one stream")]
    Overlap,
    /// Not a proof in the form that there is.
    #[error("not a proof in the form of c2sp.org/tlog-proof@v1")]
    Proof,
    /// A proof without what it proves.
    #[error("what this proves is missing")]
    ProvedMissing,
    /// Something disclosed without its proof.
    #[error("its proof is missing")]
    ProofMissing,
    /// A put-once name was written again.
    #[error("the object was written again after it was stored")]
    Rewritten,
    /// Not a seal, or not one that its log may have there.
    #[error("not a seal in its one form")]
    Seal,
    /// A seal that does not follow the one before it.
    #[error("the seal does not follow the one before it")]
    SealChain,
    /// A seal is missing between, or behind, those that are there.
    #[error("a seal or its checkpoint is missing")]
    SealMissing,
    /// A seal leaves out, or shortens, a stream that had not ended.
    #[error("the seal leaves out or shortens a stream that had not ended")]
    SealOmits,
    /// A seal's checkpoint is not that of the seals, or not signed as it must be.
    #[error("the seal's checkpoint is not that of the seals up to it, or no trusted key signed it")]
    SealSignature,
    /// A session's records do not form one chain.
    #[error("the record does not follow the session's record before it")]
    SessionChain,
    /// A session's number twice, with different events.
    #[error("two different records have the same number in their session")]
    SessionFork,
    /// A session's numbers are not dense, though every stream is there to its end.
    #[error("records of the session are missing")]
    SessionGap,
    /// A time stamp that does not hold, or is not on the last seal of its day.
    #[error("the time stamp does not hold, or is not on the last seal of its day")]
    Stamp,
    /// Not signed by the writer or, where recovered, the deployment.
    #[error("the checkpoint's signature does not hold")]
    Signature,
    /// The first record of a stream is not its `writer.open`.
    #[error("the stream does not begin with its opening record")]
    Start,
    /// A stream is not what a seal says that it was.
    #[error("the stream is not what a seal says that it was")]
    StreamChanged,
    /// A stream ends before the place up to which it was sealed.
    #[error("the stream was cut off: a seal says that it had more records")]
    StreamCut,
    /// A stream that a seal lists is not there.
    #[error("the whole stream is missing: a seal lists it")]
    StreamMissing,
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
            Self::Differs
            | Self::Overlap
            | Self::SealOmits
            | Self::SessionFork
            | Self::Succession => Class::Fork,
            Self::CertificateMissing
            | Self::Missing
            | Self::ProofMissing
            | Self::ProvedMissing
            | Self::SealMissing
            | Self::SessionGap
            | Self::StreamMissing => Class::Gap,
            Self::StreamCut => Class::Truncation,
            Self::LockShort | Self::Unlocked => Class::Lock,
            Self::Time => Class::Clock,
            Self::AfterEnd
            | Self::Certificate(_)
            | Self::CertificateOther
            | Self::Checkpoint
            | Self::Cosignature
            | Self::Deleted
            | Self::Footer
            | Self::Frame
            | Self::Header
            | Self::Inclusion
            | Self::Json
            | Self::Kind
            | Self::Leaf
            | Self::Outside
            | Self::Proof
            | Self::Rewritten
            | Self::Seal
            | Self::SealChain
            | Self::SealSignature
            | Self::SessionChain
            | Self::Signature
            | Self::Stamp
            | Self::Start
            | Self::StreamChanged
            | Self::Untrusted => Class::Tampering,
        }
    }
}

/// Why something could not be told: without a fault the verdict is "could not tell".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// A record or seal that is younger than what was made of it.
    #[error(
        "the object was stored, or stamped, before the time that it has in itself: one of the clocks is wrong"
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
    /// Something is missing that a folder may hold which could not be read.
    #[error("something is missing here; it may be in a folder that could not be read")]
    Hidden,
    /// Of a version that this program does not know.
    #[error("of a newer version than this program")]
    Newer,
    /// Part of the format that this version does not check.
    #[error("not checked by this version")]
    NotChecked,
    /// The writer says that its store is sealed, and there is no seal.
    #[error(
        "the stream's store is sealed, but none of its seals is there: they may have been removed, and streams with them"
    )]
    NotSealed,
    /// Nothing of a stream but its certificate.
    #[error("the stream was opened, but no segment of it is there")]
    NothingStored,
    /// A stream without its end.
    #[error("the stream has no end: nothing is proved past its last record")]
    OpenEnd,
    /// No seal has the cosignatures that the trust file asks for.
    #[error("no seal has the cosignatures that the trust file asks for")]
    Quorum,
    /// A seal that was made long after the stream was opened does not list it.
    #[error("no seal lists the stream, though some were made long after it was opened")]
    SealUnlisted,
    /// A gap in a session that the missing end of a stream may explain.
    #[error(
        "records of the session are missing; they may be in a stream, or the end of one, that is not here"
    )]
    SessionGap,
    /// A cosignature or time stamp from long after its seal.
    #[error(
        "cosigned, or stamped, more than two days after the time that the seal says: it may have been made later than that"
    )]
    Late,
    /// The seals of the last two days and more have no time stamp by an authority that was named.
    #[error(
        "the seals of the last two days and more have no time stamp by an authority that was named"
    )]
    StampBehind,
    /// A time stamp by nobody who was named.
    #[error(
        "the time stamp leads to no authority that was named, or its certificate was not valid then"
    )]
    StampUntrusted,
    /// There is no trust file.
    #[error("self-consistent, signer unknown: no trust file was given")]
    SignerUnknown,
    /// An object could not be read.
    #[error("could not be read")]
    Unreadable,
    /// The last seals lack the cosignatures that the trust file asks for.
    #[error(
        "the seals of the last ten minutes and more lack the cosignatures that the trust file asks for"
    )]
    WitnessBehind,
}

impl Doubt {
    /// What kind of trouble it is.
    pub fn class(self) -> Class {
        match self {
            Self::Clock | Self::Late => Class::Clock,
            Self::DeclaredGap | Self::SessionGap => Class::Gap,
            Self::Empty
            | Self::EmptyPlace
            | Self::NotChecked
            | Self::NotSealed
            | Self::Quorum
            | Self::SealUnlisted
            | Self::SignerUnknown
            | Self::StampBehind
            | Self::StampUntrusted
            | Self::WitnessBehind => Class::Unproven,
            Self::Hidden | Self::Newer | Self::Unreadable => Class::Unreadable,
            Self::NothingStored | Self::OpenEnd => Class::Truncation,
        }
    }
}

/// What is worth knowing and changes no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// An object that the store got late: until then its times rest on the gateway's clock alone.
    #[error("the store got the object more than an hour after its last record, or after its seal")]
    Late,
    /// A lock that has done what it was for.
    #[error("the object's lock has ended; it could be removed now")]
    LockEnded,
    /// A stream without an end, whose seals gave up waiting for one.
    #[error(
        "the writer died with its disk: the seals say that its stream is lost past this record"
    )]
    Lost,
    /// A disclosed record behind the last seal.
    #[error("no seal covers the record: its writer's signature alone says that it was in the log")]
    NotSealed,
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
    /// A stream without an end, up to which it was sealed.
    #[error("the writer runs, or died: its stream is sealed up to the horizon, and has no end yet")]
    Running,
    /// A seal without its checkpoint, at the very end: it counts for nothing yet.
    #[error("the last seal has no checkpoint yet, and counts for nothing")]
    SealUnsigned,
    /// Time stamps, and nobody whose they may be.
    #[error(
        "the log has time stamps; whose they are was not checked, since no authority was named"
    )]
    Stamps,
    /// An object whose name means nothing in this format.
    #[error("an object that is not part of the log")]
    Stranger,
}
