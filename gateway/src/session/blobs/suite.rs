//! What every backend of [`Blobs`] must do.

use gatehouse_envelope::seal::Sealed;

use super::{Blobs, LONGEST, StoreError};

/// In the year 2100.
const LATER_US: i64 = 4_102_444_800_000_000;

fn part(bytes: &[u8]) -> Sealed {
    Sealed::from_store(bytes.to_vec())
}

async fn bytes(blobs: &dyn Blobs, name: &str) -> Option<Vec<u8>> {
    let part = blobs.get(name).await.unwrap();
    part.map(Sealed::into_bytes)
}

/// Runs the suite on a backend that holds nothing.
pub(crate) async fn run(blobs: &dyn Blobs) {
    assert!(blobs.get("s_a/t/1/p_1").await.unwrap().is_none());
    blobs.remove("s_a/t/1/").await.unwrap();

    blobs
        .put("s_a/t/1/p_1", part(b"one"), LATER_US)
        .await
        .unwrap();
    blobs
        .put("s_a/t/1/p_1", part(b"one"), LATER_US)
        .await
        .unwrap();
    let other = blobs.put("s_a/t/1/p_1", part(b"other"), LATER_US).await;
    assert!(matches!(other, Err(StoreError::Exists)));
    assert_eq!(bytes(blobs, "s_a/t/1/p_1").await.unwrap(), b"one");

    blobs.put("s_a/t/1/p_2", part(b""), LATER_US).await.unwrap();
    assert_eq!(bytes(blobs, "s_a/t/1/p_2").await.unwrap(), b"");
    let long = vec![7; LONGEST];
    blobs
        .put("s_b/t/1/p_1", part(&long), LATER_US)
        .await
        .unwrap();
    assert!(bytes(blobs, "s_b/t/1/p_1").await.unwrap() == long);

    // Names that begin alike are others.
    blobs
        .put("s_a/t/10/p_1", part(b"ten"), LATER_US)
        .await
        .unwrap();
    blobs.remove("s_a/t/1/").await.unwrap();
    assert!(bytes(blobs, "s_a/t/1/p_1").await.is_none());
    assert!(bytes(blobs, "s_a/t/1/p_2").await.is_none());
    is_still_there(blobs).await;
}

/// What [`run`] left, also for whoever opens the backend anew.
pub(crate) async fn is_still_there(blobs: &dyn Blobs) {
    assert_eq!(bytes(blobs, "s_a/t/10/p_1").await.unwrap(), b"ten");
    assert_eq!(bytes(blobs, "s_b/t/1/p_1").await.unwrap().len(), LONGEST);
}
