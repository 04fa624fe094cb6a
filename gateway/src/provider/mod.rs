//! The providers behind the gateway.

pub mod echo;
