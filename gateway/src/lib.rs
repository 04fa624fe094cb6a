//! The door of Gatehouse: a reverse proxy between AI agents and model providers.

pub mod cli;
pub mod config;
pub mod provider;
pub mod reject;
pub mod telemetry;
pub mod wire;
