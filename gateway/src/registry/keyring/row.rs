//! How a tenant's wrapped key is stored: as its provider wrapped it, or with the time from which it is
//! used for what is new.

use gatehouse_envelope::keys::KeyError;

/// The first byte of a row with a time. Without one a row begins with the version of its provider's
/// wrapped form, which is 1.
const TIMED: u8 = 2;

/// One row.
pub(super) struct Row<'r> {
    /// When the key begins to be used for what is new, in microseconds since 1970 (UTC); the first key
    /// of a tenant always is. Every process knows the key by then.
    pub(super) from_us: i64,
    /// The wrapped key.
    pub(super) wrapped: &'r [u8],
}

impl<'r> Row<'r> {
    pub(super) fn parse(row: &'r [u8]) -> Result<Self, KeyError> {
        match row.split_first() {
            Some((&TIMED, rest)) => {
                let (from_us, wrapped) = rest.split_first_chunk().ok_or(KeyError::Damaged)?;
                Ok(Self {
                    from_us: i64::from_be_bytes(*from_us),
                    wrapped,
                })
            }
            Some((&version, _)) if version > TIMED => Err(KeyError::Newer),
            _ => Ok(Self {
                from_us: i64::MIN,
                wrapped: row,
            }),
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        if self.from_us == i64::MIN {
            return self.wrapped.to_vec();
        }
        let mut row = vec![TIMED];
        row.extend_from_slice(&self.from_us.to_be_bytes());
        row.extend_from_slice(self.wrapped);
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_both_forms_come_back_as_they_were() {
        for from_us in [i64::MIN, 0, 1_795_961_100_000_000] {
            let wrapped = &[1, 9, 8][..];
            let row = Row { from_us, wrapped }.encode();
            let read = Row::parse(&row).unwrap();
            assert_eq!((read.from_us, read.wrapped), (from_us, wrapped));
        }
        assert!(matches!(Row::parse(&[3, 1]), Err(KeyError::Newer)));
        assert!(matches!(Row::parse(&[2, 1]), Err(KeyError::Damaged)));
    }
}
