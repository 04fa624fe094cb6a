//! The door of Gatehouse: a reverse proxy between AI agents and model providers.

pub mod audit;
pub mod auth;
pub mod cli;
pub mod clock;
pub mod config;
pub mod provider;
pub mod registry;
pub mod reject;
pub mod session;
pub mod telemetry;
pub mod wire;
