//! The book of Gatehouse: records, segments, Merkle trees, checkpoints; writer, stores, verifier.
