//! What verification can find. No variant carries text of a record.

use crate::cert::CertificateError;

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
    /// Records are missing between two segments, or a segment is there twice.
    #[error("the segment does not begin where the one before it ends")]
    Place,
    /// A put-once name was written or deleted again.
    #[error("the object was written or deleted again after it was stored")]
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
    /// Signed by a key that the trust file does not name.
    #[error("the certificate is signed by a key that the trust file does not name")]
    Untrusted,
}

/// Why something could not be told: without a fault the verdict is "could not tell".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// There is no log.
    #[error("nothing to verify")]
    Empty,
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

/// What is worth knowing and changes no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
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
