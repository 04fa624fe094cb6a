//! The reader of Gatehouse: checks a ledger offline.
