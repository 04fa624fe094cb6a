//! Why a text is not JSON that everybody reads alike.

/// What is wrong, where. Never carries text of the document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at byte {offset}{}", shown(.path))]
pub struct JsonError {
    /// What is wrong.
    pub fault: JsonFault,
    /// The value in which it stands, as [`crate::json::Node::path`] writes it; empty at the root.
    pub path: String,
    /// Byte offset in the document.
    pub offset: usize,
}

/// The ways in which a document can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// Starts with a byte-order mark, which RFC 8259 section 8.1 lets parsers refuse or ignore.
    #[error("byte-order mark")]
    ByteOrderMark,
    /// A control character stands unescaped in a string.
    #[error("unescaped control character")]
    ControlCharacter,
    /// Arrays and objects are nested deeper than the limit.
    #[error("nested too deep")]
    Depth,
    /// Two members of an object have the same name once escapes are decoded.
    #[error("duplicate key")]
    DuplicateKey,
    /// The document ends inside a value.
    #[error("unexpected end")]
    End,
    /// A backslash that starts no escape of RFC 8259.
    #[error("unknown escape")]
    Escape,
    /// Longer than offsets can say (4 GiB).
    #[error("document too long")]
    Length,
    /// Half of a UTF-16 surrogate pair.
    #[error("lone surrogate")]
    LoneSurrogate,
    /// A number that is malformed, longer than any parser keeps, or infinite as a double.
    #[error("number out of range or malformed")]
    Number,
    /// A byte that cannot stand there.
    #[error("unexpected byte")]
    Syntax,
    /// More values than the limit.
    #[error("too many values")]
    TooMany,
    /// Something follows the document.
    #[error("trailing bytes")]
    Trailing,
    /// Not UTF-8.
    #[error("invalid UTF-8")]
    Utf8,
}

fn shown(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!(" in {path}")
    }
}
