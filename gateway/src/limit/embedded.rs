//! The meter in the embedded database: a row for each account, and one for each request that has set
//! something aside or has settled lately.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use redb::{ReadableTable, Table, TableDefinition, TableError, WriteTransaction};

use super::{Account, Claim, Meter, MeterError, Reserved, Standing, Total};
use crate::{
    clock::{Clock, later},
    registry::{Database, DatabaseError, Durable},
};

/// The first byte of every row of this version; a greater one is a later version's. An account: when its
/// window ends, spent, reserved (64 bits each). A request: 0 if its reservations stand and 1 if it has
/// settled (8 bits), since when, when the last of its windows ends, then for each account the length of
/// the name (8 bits), the name, the amount.
const FORMAT: u8 = 1;

/// An account is forgotten this long after its window.
const GRACE: Duration = Duration::from_secs(24 * 3600);
/// A settled request is remembered this long: what is asked again is asked by the same process, soon.
const KEPT: Duration = Duration::from_secs(60);
/// Rows taken out in one step of a sweep.
const PAGE: usize = 256;

const ACCOUNTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meter");
const REQUESTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("metered");

/// Rows in redb.
pub struct EmbeddedMeter {
    database: Arc<Database>,
    clock: Arc<dyn Clock>,
}

impl EmbeddedMeter {
    /// A meter in `database`, whose windows end by `clock`.
    pub fn new(database: Arc<Database>, clock: Arc<dyn Clock>) -> Self {
        Self { database, clock }
    }
}

/// A row that no version wrote, or a later one.
enum Unreadable {
    Damaged,
    Newer,
}

impl From<Unreadable> for MeterError {
    fn from(unreadable: Unreadable) -> Self {
        match unreadable {
            Unreadable::Damaged => Self::Damaged,
            Unreadable::Newer => Self::Newer,
        }
    }
}

fn body(row: &[u8]) -> Result<&[u8], Unreadable> {
    match row.split_first() {
        Some((&FORMAT, rest)) => Ok(rest),
        None | Some((0, _)) => Err(Unreadable::Damaged),
        Some(_) => Err(Unreadable::Newer),
    }
}

fn split<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [u8; N], Unreadable> {
    let (head, tail) = rest.split_first_chunk().ok_or(Unreadable::Damaged)?;
    *rest = tail;
    Ok(head)
}

/// An account's row, read.
#[derive(Clone, Copy, Default)]
struct Row {
    until_us: i64,
    total: Total,
}

impl Row {
    fn decode(row: &[u8]) -> Result<Self, Unreadable> {
        let mut rest = body(row)?;
        let row = Self {
            until_us: i64::from_be_bytes(*split(&mut rest)?),
            total: Total {
                spent: u64::from_be_bytes(*split(&mut rest)?),
                reserved: u64::from_be_bytes(*split(&mut rest)?),
            },
        };
        match rest {
            [] => Ok(row),
            _ => Err(Unreadable::Damaged),
        }
    }

    fn encode(self) -> [u8; 25] {
        let mut row = [0; 25];
        let parts = [
            &[FORMAT][..],
            &self.until_us.to_be_bytes(),
            &self.total.spent.to_be_bytes(),
            &self.total.reserved.to_be_bytes(),
        ];
        let bytes = parts.into_iter().flatten();
        for (place, byte) in row.iter_mut().zip(bytes) {
            *place = *byte;
        }
        row
    }
}

/// A request's row, read.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Request {
    is_settled: bool,
    since_us: i64,
    until_us: i64,
    /// What it set aside, by name.
    held: Vec<(String, u64)>,
}

impl Request {
    fn decode(row: &[u8]) -> Result<Self, Unreadable> {
        let mut rest = body(row)?;
        let [state] = *split(&mut rest)?;
        let mut request = Self {
            is_settled: state == 1,
            since_us: i64::from_be_bytes(*split(&mut rest)?),
            until_us: i64::from_be_bytes(*split(&mut rest)?),
            held: Vec::new(),
        };
        while !rest.is_empty() {
            let [length] = *split(&mut rest)?;
            let (name, tail) = rest
                .split_at_checked(length.into())
                .ok_or(Unreadable::Damaged)?;
            rest = tail;
            let name = String::from_utf8(name.to_vec()).map_err(|_| Unreadable::Damaged)?;
            request
                .held
                .push((name, u64::from_be_bytes(*split(&mut rest)?)));
        }
        match state {
            0 | 1 => Ok(request),
            _ => Err(Unreadable::Damaged),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut row = vec![FORMAT, u8::from(self.is_settled)];
        row.extend_from_slice(&self.since_us.to_be_bytes());
        row.extend_from_slice(&self.until_us.to_be_bytes());
        for (name, amount) in &self.held {
            // Names are digests; one that does not fit would not be read again, which is an error.
            row.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
            row.extend_from_slice(name.as_bytes());
            row.extend_from_slice(&amount.to_be_bytes());
        }
        row
    }
}

type Rows<'t> = Table<'t, &'static str, &'static [u8]>;
/// What a change gave, or why it changed nothing.
type Done<T> = Result<T, Unreadable>;

fn account(rows: &Rows<'_>, name: &str) -> Result<Done<Row>, redb::Error> {
    let row = rows.get(name)?;
    Ok(row.map_or(Ok(Row::default()), |row| Row::decode(row.value())))
}

fn request_of(rows: &Rows<'_>, id: &str) -> Result<Done<Option<Request>>, redb::Error> {
    let row = rows.get(id)?;
    Ok(row.map(|row| Request::decode(row.value())).transpose())
}

/// Looks at all, then writes all.
fn reserve(
    transaction: &WriteTransaction,
    id: &str,
    claims: &[Claim],
    now_us: i64,
) -> Result<Done<Reserved>, redb::Error> {
    let mut accounts = transaction.open_table(ACCOUNTS)?;
    let mut requests = transaction.open_table(REQUESTS)?;
    let known = match request_of(&requests, id)? {
        Ok(known) => known,
        Err(unreadable) => return Ok(Err(unreadable)),
    };
    let mut rows = Vec::with_capacity(claims.len());
    for (at, claim) in claims.iter().enumerate() {
        let mut row = match account(&accounts, &claim.account.name)? {
            Ok(row) => row,
            Err(unreadable) => return Ok(Err(unreadable)),
        };
        let missing = claim.known.saturating_sub(row.total.spent);
        row.total.spent = row.total.spent.max(claim.known);
        row.until_us = row.until_us.max(claim.account.until_us);
        if known.is_none() {
            let wanted = row.total.all().saturating_add(claim.amount);
            if claim.cap.is_some_and(|cap| wanted > cap) {
                let total = row.total;
                return Ok(Ok(Reserved::Refused { at, total }));
            }
            row.total.reserved = row.total.reserved.saturating_add(claim.amount);
        }
        rows.push((row, missing));
    }
    for (claim, (row, _)) in claims.iter().zip(&rows) {
        accounts.insert(claim.account.name.as_str(), row.encode().as_slice())?;
    }
    if known.is_none() {
        let held = claims.iter();
        let request = Request {
            is_settled: false,
            since_us: now_us,
            until_us: claims
                .iter()
                .map(|it| it.account.until_us)
                .max()
                .unwrap_or(0),
            held: held
                .map(|claim| (claim.account.name.clone(), claim.amount))
                .collect(),
        };
        requests.insert(id, request.encode().as_slice())?;
    }
    let standing = rows.into_iter().map(|(row, missing)| Standing {
        total: row.total,
        missing,
    });
    Ok(Ok(Reserved::Held(standing.collect())))
}

/// Settles, or releases where nothing was spent.
fn end(
    transaction: &WriteTransaction,
    id: &str,
    spent: Option<u64>,
    wanted: &[Account],
    now_us: i64,
) -> Result<Done<Vec<Total>>, redb::Error> {
    let mut accounts = transaction.open_table(ACCOUNTS)?;
    let mut requests = transaction.open_table(REQUESTS)?;
    let known = match request_of(&requests, id)? {
        Ok(known) => known,
        Err(unreadable) => return Ok(Err(unreadable)),
    };
    let is_settled = known.as_ref().is_some_and(|it| it.is_settled);
    let held = |name: &str| {
        let open = known.iter().filter(|it| !it.is_settled);
        let mut held = open.flat_map(|it| &it.held);
        held.find(|(other, _)| other == name)
            .map_or(0, |(_, amount)| *amount)
    };
    let mut rows = Vec::with_capacity(wanted.len());
    for own in wanted {
        let mut row = match account(&accounts, &own.name)? {
            Ok(row) => row,
            Err(unreadable) => return Ok(Err(unreadable)),
        };
        row.until_us = row.until_us.max(own.until_us);
        row.total.reserved = row.total.reserved.saturating_sub(held(&own.name));
        if !is_settled {
            row.total.spent = row.total.spent.saturating_add(spent.unwrap_or(0));
        }
        rows.push(row);
    }
    if !is_settled && (spent.is_some() || known.is_some()) {
        for (own, row) in wanted.iter().zip(&rows) {
            accounts.insert(own.name.as_str(), row.encode().as_slice())?;
        }
        match spent {
            Some(_) => {
                let settled = Request {
                    is_settled: true,
                    since_us: now_us,
                    ..Request::default()
                };
                requests.insert(id, settled.encode().as_slice())?;
            }
            None => drop(requests.remove(id)?),
        }
    }
    Ok(Ok(rows.into_iter().map(|row| row.total).collect()))
}

fn failed(error: impl Into<redb::Error>) -> MeterError {
    DatabaseError::from(error).into()
}

#[async_trait]
impl Meter for EmbeddedMeter {
    /// Not synced on its own: the record and the session's state that follow are, and bring it onto the
    /// disk with them.
    async fn reserve(&self, request: &str, claims: &[Claim]) -> Result<Reserved, MeterError> {
        let (id, claims) = (request.to_owned(), claims.to_vec());
        let now_us = self.clock.utc_us();
        let write =
            move |transaction: &WriteTransaction| reserve(transaction, &id, &claims, now_us);
        Ok(self.database.write(Durable::Soon, write).await??)
    }

    async fn settle(
        &self,
        request: &str,
        spent: u64,
        accounts: &[Account],
    ) -> Result<Vec<Total>, MeterError> {
        self.end(request, Some(spent), accounts).await
    }

    async fn release(&self, request: &str, accounts: &[Account]) -> Result<(), MeterError> {
        self.end(request, None, accounts).await.map(drop)
    }

    async fn total(&self, name: &str) -> Result<Total, MeterError> {
        let rows = match self.database.read()?.open_table(ACCOUNTS) {
            Ok(rows) => rows,
            Err(TableError::TableDoesNotExist(_)) => return Ok(Total::default()),
            Err(error) => return Err(failed(error)),
        };
        let row = rows.get(name).map_err(failed)?;
        let row = row.map_or(Ok(Row::default()), |row| Row::decode(row.value()))?;
        Ok(row.total)
    }

    fn now_us(&self) -> i64 {
        self.clock.utc_us()
    }

    async fn sweep(&self) -> Result<(), MeterError> {
        let now_us = self.clock.utc_us();
        let over =
            |row: &[u8]| Row::decode(row).is_ok_and(|row| later(row.until_us, GRACE) < now_us);
        let past = |row: &[u8]| {
            Request::decode(row).is_ok_and(|it| match it.is_settled {
                true => later(it.since_us, KEPT) < now_us,
                false => later(it.until_us, GRACE) < now_us,
            })
        };
        self.forget(ACCOUNTS, over).await?;
        self.forget(REQUESTS, past).await
    }
}

impl EmbeddedMeter {
    async fn end(
        &self,
        request: &str,
        spent: Option<u64>,
        accounts: &[Account],
    ) -> Result<Vec<Total>, MeterError> {
        let (id, accounts) = (request.to_owned(), accounts.to_vec());
        let now_us = self.clock.utc_us();
        let write =
            move |transaction: &WriteTransaction| end(transaction, &id, spent, &accounts, now_us);
        Ok(self.database.write(Durable::Soon, write).await??)
    }

    /// Takes out the rows of a table of which nothing is needed any more: found beside the writer, and
    /// taken out in steps, as requests wait for it. None of them comes to life again meanwhile.
    async fn forget(
        &self,
        table: TableDefinition<'static, &'static str, &'static [u8]>,
        is_over: impl Fn(&[u8]) -> bool,
    ) -> Result<(), MeterError> {
        let mut names = Vec::new();
        match self.database.read()?.open_table(table) {
            Ok(rows) => {
                for row in rows.iter().map_err(failed)? {
                    let (name, row) = row.map_err(failed)?;
                    if is_over(row.value()) {
                        names.push(name.value().to_owned());
                    }
                }
            }
            Err(TableError::TableDoesNotExist(_)) => return Ok(()),
            Err(error) => return Err(failed(error)),
        }
        for names in names.chunks(PAGE) {
            let names = names.to_vec();
            let write = move |transaction: &WriteTransaction| {
                let mut rows = transaction.open_table(table)?;
                for name in &names {
                    rows.remove(name.as_str())?;
                }
                Ok(())
            };
            self.database.write(Durable::Soon, write).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
