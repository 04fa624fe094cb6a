//! A session as a row of the embedded database, and back.

use gatehouse_envelope::seal::Sealed;
use redb::{ReadableTable, TableDefinition, WriteTransaction};

use super::{
    super::{Lease, Row, StoreError, Write},
    Held,
};

/// The first byte of every row of this version. After it: version, fence, holder (64 bits each,
/// big-endian), expiry (64 bits, two's complement) and the sealed state.
pub(super) const FORMAT: u8 = 1;

pub(super) const SESSIONS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("sessions");
/// The version of each row once more. A row that was put back from an older copy of the file
/// differs from it. (Who puts both back, or the whole file, is found by the log's chain instead.)
pub(super) const VERSIONS: TableDefinition<'_, &str, u64> =
    TableDefinition::new("session_versions");

/// A row as it is written under a lease.
pub(super) fn encode(version: u64, held: Held, write: &Write) -> Vec<u8> {
    let holder = if write.lease == Lease::Free {
        0
    } else {
        held.holder
    };
    let mut row = vec![FORMAT];
    for number in [version, held.fence, holder] {
        row.extend_from_slice(&number.to_be_bytes());
    }
    row.extend_from_slice(&write.expires_us.to_be_bytes());
    row.extend_from_slice(write.sealed.as_bytes());
    row
}

/// Reads what [`encode`] wrote.
pub(super) fn decode(row: &[u8], now_us: i64) -> Result<Row, StoreError> {
    fn number<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8; 8], StoreError> {
        let (number, rest) = bytes.split_first_chunk().ok_or(StoreError::Damaged)?;
        *bytes = rest;
        Ok(number)
    }
    let mut rest = match row.split_first() {
        Some((&FORMAT, rest)) => rest,
        None | Some((0, _)) => return Err(StoreError::Damaged),
        Some(_) => return Err(StoreError::Newer),
    };
    Ok(Row {
        version: u64::from_be_bytes(*number(&mut rest)?),
        fence: u64::from_be_bytes(*number(&mut rest)?),
        holder: u64::from_be_bytes(*number(&mut rest)?),
        leased: false,
        expires_us: i64::from_be_bytes(*number(&mut rest)?),
        now_us,
        sealed: Sealed::from_store(rest.to_vec()),
    })
}

/// Writes a row and its version if the version there is `expected` (`None`: no row).
pub(super) fn swap(
    transaction: &WriteTransaction,
    id: &str,
    expected: Option<u64>,
    row: Option<(u64, &[u8])>,
) -> Result<bool, redb::Error> {
    let mut versions = transaction.open_table(VERSIONS)?;
    let mut rows = transaction.open_table(SESSIONS)?;
    let there = versions.get(id)?.map(|version| version.value());
    // A row without a version, or the reverse, is damage, and is not written over.
    if there != expected || rows.get(id)?.is_some() != expected.is_some() {
        return Ok(false);
    }
    if let Some((version, row)) = row {
        versions.insert(id, version)?;
        rows.insert(id, row)?;
    } else {
        versions.remove(id)?;
        rows.remove(id)?;
    }
    Ok(true)
}
