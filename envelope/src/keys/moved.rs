//! Root keys that were in files before KMS held one.

use async_trait::async_trait;

use super::{FileKeys, GeneratedKey, KeyContext, KeyError, KeyProvider, KmsKeys};
use crate::secret::Secret;

/// A root key in AWS KMS, and the file that was the root key before it, which only unwraps from now on.
pub struct MovedKeys {
    to: KmsKeys,
    from: FileKeys,
}

impl MovedKeys {
    /// From a file to KMS.
    pub fn new(from: FileKeys, to: KmsKeys) -> Self {
        Self { to, from }
    }
}

#[async_trait]
impl KeyProvider for MovedKeys {
    fn id(&self) -> &str {
        self.to.id()
    }

    async fn generate(&self, context: &KeyContext<'_>) -> Result<GeneratedKey, KeyError> {
        self.to.generate(context).await
    }

    async fn unwrap(
        &self,
        context: &KeyContext<'_>,
        wrapped: &[u8],
    ) -> Result<Secret<[u8; 32]>, KeyError> {
        if self.to.knows(wrapped) {
            return self.to.unwrap(context, wrapped).await;
        }
        self.from.unwrap(context, wrapped).await
    }

    async fn rewrap(
        &self,
        context: &KeyContext<'_>,
        wrapped: &[u8],
    ) -> Result<Option<Vec<u8>>, KeyError> {
        if self.to.knows(wrapped) {
            return self.to.rewrap(context, wrapped).await;
        }
        let key = self.from.unwrap(context, wrapped).await?;
        Ok(Some(self.to.wrap(context, &key).await?))
    }
}
