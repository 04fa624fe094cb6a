//! The log in S3, on servers that are lax in different things: RadosGW enforces locks and takes a
//! second put, MiniStack enforces conditions. What is sent is looked at besides.

mod place;
mod puts;
mod radosgw;
mod refused;
mod verified;

pub(crate) use place::{Place, Server};
use radosgw::RadosGw;
