//! The search of Gatehouse: find and replace personal data and secrets. Does no I/O.
