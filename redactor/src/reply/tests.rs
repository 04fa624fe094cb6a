//! Tests of channels: whole and cut everywhere.
