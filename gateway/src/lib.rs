//! The door of Gatehouse: a reverse proxy between AI agents and model providers.
