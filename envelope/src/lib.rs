//! The safe of Gatehouse: sealing, data keys, signatures, keyed digests, secrets.
