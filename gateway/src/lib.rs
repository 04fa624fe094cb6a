//! The door of Gatehouse: a reverse proxy between AI agents and model providers.

pub mod admin;
pub mod anchor;
pub mod audit;
pub mod auth;
pub mod cli;
pub mod clock;
pub mod config;
pub mod demo;
pub mod limit;
pub mod model;
pub mod payloads;
pub mod pipeline;
pub mod protocol;
pub mod provider;
pub mod registry;
pub mod reject;
pub mod relay;
pub mod screen;
pub mod serve;
pub mod session;
pub mod telemetry;
pub mod wire;
