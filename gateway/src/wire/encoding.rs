//! Content encodings of provider replies, decoded as the bytes arrive.
//!
//! We ask for `gzip` or nothing; whatever else comes is refused, because a reply that cannot be
//! read cannot be searched.

use std::io::Write;

use bytes::Bytes;
use flate2::write::GzDecoder;

/// The value of `accept-encoding` that we send: what [`Decoder`] can read.
pub const ACCEPTED: &str = "gzip";

/// Compressed bytes are fed in pieces of this size, so that the cap is looked at in between.
const STEP: usize = 4096;

/// Why a reply could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    /// The compressed bytes are damaged or cut.
    #[error("the reply's compressed bytes are damaged or cut")]
    Damaged,
    /// More came out than the caller allows.
    #[error("the reply is larger than allowed once decompressed")]
    TooLarge,
    /// An encoding we did not ask for.
    #[error("the reply has a content encoding that was not asked for")]
    Unknown,
}

/// Undoes the content encoding of one reply.
pub enum Decoder {
    /// No encoding.
    Identity,
    /// RFC 1952.
    Gzip(Box<GzDecoder<Vec<u8>>>),
}

impl Decoder {
    /// The decoder for a `content-encoding` header's value.
    ///
    /// # Errors
    /// [`EncodingError::Unknown`] for anything but `gzip` and `identity`, lists included.
    pub fn new(header: Option<&[u8]>) -> Result<Self, EncodingError> {
        let value = header.unwrap_or_default().trim_ascii();
        if value.is_empty() || value.eq_ignore_ascii_case(b"identity") {
            Ok(Self::Identity)
        } else if value.eq_ignore_ascii_case(b"gzip") || value.eq_ignore_ascii_case(b"x-gzip") {
            Ok(Self::Gzip(Box::new(GzDecoder::new(Vec::new()))))
        } else {
            Err(EncodingError::Unknown)
        }
    }

    /// Everything that `bytes` decode to; at most `cap` bytes.
    ///
    /// # Errors
    /// [`EncodingError::Damaged`] or [`EncodingError::TooLarge`].
    pub fn push(&mut self, bytes: Bytes, cap: usize) -> Result<Bytes, EncodingError> {
        match self {
            Self::Identity if bytes.len() > cap => Err(EncodingError::TooLarge),
            Self::Identity => Ok(bytes),
            Self::Gzip(decoder) => {
                for step in bytes.chunks(STEP) {
                    decoder
                        .write_all(step)
                        .map_err(|_| EncodingError::Damaged)?;
                    if decoder.get_ref().len() > cap {
                        return Err(EncodingError::TooLarge);
                    }
                }
                decoder.flush().map_err(|_| EncodingError::Damaged)?;
                let out = std::mem::take(decoder.get_mut());
                if out.len() > cap {
                    Err(EncodingError::TooLarge)
                } else {
                    Ok(out.into())
                }
            }
        }
    }

    /// The reply has ended: the checksum must be there and right.
    ///
    /// # Errors
    /// [`EncodingError::Damaged`] if it is not.
    pub fn finish(&mut self) -> Result<Bytes, EncodingError> {
        match self {
            Self::Identity => Ok(Bytes::new()),
            Self::Gzip(decoder) => {
                decoder.try_finish().map_err(|_| EncodingError::Damaged)?;
                Ok(std::mem::take(decoder.get_mut()).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn gzip() -> Decoder {
        Decoder::new(Some(b" GZIP ")).unwrap_or(Decoder::Identity)
    }

    #[test]
    fn gzip_is_read_at_every_split_and_a_cut_is_an_error() {
        let bytes = packed(b"data: one\n\ndata: two\n\n");
        for cut in 0..bytes.len() {
            let (head, tail) = bytes.split_at(cut);
            let mut decoder = gzip();
            let mut out = decoder
                .push(Bytes::copy_from_slice(head), 1000)
                .unwrap()
                .to_vec();
            assert!(decoder.finish().is_err(), "cut at {cut}");
            let mut decoder = gzip();
            out.clear();
            out.extend_from_slice(&decoder.push(Bytes::copy_from_slice(head), 1000).unwrap());
            out.extend_from_slice(&decoder.push(Bytes::copy_from_slice(tail), 1000).unwrap());
            out.extend_from_slice(&decoder.finish().unwrap());
            assert_eq!(out, b"data: one\n\ndata: two\n\n");
        }
    }

    #[test]
    fn events_flushed_one_by_one_come_out_one_by_one() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(b"data: one\n\n").unwrap();
        encoder.flush().unwrap();
        let first = std::mem::take(encoder.get_mut());
        let mut decoder = gzip();
        assert_eq!(decoder.push(first.into(), 100).unwrap(), "data: one\n\n");
    }

    #[test]
    fn a_small_reply_cannot_become_a_large_one() {
        let bomb = packed(&vec![0; 1 << 20]);
        assert_eq!(gzip().push(bomb.into(), 1000), Err(EncodingError::TooLarge));
    }

    #[test]
    fn other_encodings_are_refused() {
        for name in ["br", "zstd", "deflate", "gzip, gzip", "x"] {
            assert!(matches!(
                Decoder::new(Some(name.as_bytes())),
                Err(EncodingError::Unknown)
            ));
        }
    }
}
