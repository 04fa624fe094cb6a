//! A root key in a file that only its owner may read: the default where there is no KMS.

use std::path::Path;

use async_trait::async_trait;

use super::{GeneratedKey, KeyContext, KeyError, KeyProvider};
use crate::{
    derive::derive_for,
    private_file::{self, KeyFileError},
    random,
    seal::{Context, SealKey},
    secret::Secret,
};

/// What the file's one line begins with: what it is and its version.
const HEAD: &str = "gatehouse-root-key 1 ";

/// The root key, read from a file of mode 0600.
///
/// Every key it wraps is wrapped under a key derived for that one context, so that no use limit is
/// ever near.
pub struct FileKeys {
    current: Root,
    previous: Vec<Root>,
}

struct Root {
    id: String,
    root: Secret<[u8; 32]>,
}

impl FileKeys {
    /// Opens the root key at `path`.
    ///
    /// # Errors
    /// The file is missing, is not a regular file, may be read by others, or is damaged.
    pub fn open(path: &Path) -> Result<Self, KeyError> {
        let root = private_file::read_key(path, HEAD).map_err(|error| match error {
            KeyFileError::Damaged => KeyError::Newer,
            KeyFileError::File(error) => KeyError::File(error),
        })?;
        let current = Root {
            id: super::session::public_id("rk_", &root),
            root,
        };
        Ok(Self {
            current,
            previous: Vec::new(),
        })
    }

    /// With the root key before this one, which only unwraps from now on.
    #[must_use]
    pub fn after(mut self, earlier: Self) -> Self {
        self.previous.push(earlier.current);
        self.previous.extend(earlier.previous);
        self
    }

    /// Opens the root key at `path`, and makes it first if there is none. Whoever makes the file
    /// first wins; a file that exists but cannot be used is never replaced.
    ///
    /// # Errors
    /// As for [`FileKeys::open`].
    pub fn open_or_create(path: &Path) -> Result<Self, KeyError> {
        if !path.try_exists().map_err(KeyError::File)? {
            private_file::create_key(path, HEAD, &random::secret()?).map_err(KeyError::File)?;
        }
        Self::open(path)
    }

    /// What is wrapped does not say under which key, so they are tried one after the other.
    fn open_by_any(
        &self,
        context: &KeyContext<'_>,
        wrapped: &[u8],
    ) -> Result<Secret<[u8; 32]>, KeyError> {
        let opened = self.current.unwrap(context, wrapped);
        if !matches!(opened, Err(KeyError::Damaged)) {
            return opened;
        }
        let mut earlier = self.previous.iter();
        let earlier = earlier.find_map(|root| root.unwrap(context, wrapped).ok());
        earlier.ok_or(KeyError::Damaged)
    }
}

impl Root {
    fn wrap(&self, context: &KeyContext<'_>, key: &Secret<[u8; 32]>) -> Result<Vec<u8>, KeyError> {
        let wrapped = self.wrapping(context).seal(&place(context), key.expose())?;
        Ok(wrapped.into_bytes())
    }

    fn unwrap(
        &self,
        context: &KeyContext<'_>,
        wrapped: &[u8],
    ) -> Result<Secret<[u8; 32]>, KeyError> {
        let plain = self.wrapping(context).open(&place(context), wrapped)?;
        Ok(Secret::new(
            plain.as_slice().try_into().map_err(|_| KeyError::Damaged)?,
        ))
    }

    fn wrapping(&self, context: &KeyContext<'_>) -> SealKey {
        let epoch = context.epoch.to_be_bytes();
        let parts: [&[u8]; 3] = [
            context.purpose.as_bytes(),
            context.tenant.as_bytes(),
            &epoch,
        ];
        SealKey::new(&self.id, &derive_for(&self.root, "wrap", &parts))
    }
}

fn place<'a>(context: &KeyContext<'a>) -> Context<'a> {
    Context {
        purpose: "wrapped-key",
        tenant: context.tenant,
        subject: context.purpose.as_bytes(),
        version: context.epoch.into(),
    }
}

#[async_trait]
impl KeyProvider for FileKeys {
    fn id(&self) -> &str {
        &self.current.id
    }

    async fn generate(&self, context: &KeyContext<'_>) -> Result<GeneratedKey, KeyError> {
        let key: Secret<[u8; 32]> = random::secret()?;
        let wrapped = self.current.wrap(context, &key)?;
        Ok(GeneratedKey { key, wrapped })
    }

    async fn unwrap(
        &self,
        context: &KeyContext<'_>,
        wrapped: &[u8],
    ) -> Result<Secret<[u8; 32]>, KeyError> {
        self.open_by_any(context, wrapped)
    }

    async fn rewrap(
        &self,
        context: &KeyContext<'_>,
        wrapped: &[u8],
    ) -> Result<Option<Vec<u8>>, KeyError> {
        match self.current.unwrap(context, wrapped) {
            Ok(_) => Ok(None),
            Err(KeyError::Damaged) => {
                let key = self.open_by_any(context, wrapped)?;
                Ok(Some(self.current.wrap(context, &key)?))
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        future::Future,
        os::unix::fs::PermissionsExt,
        pin::pin,
        task::{Context as TaskContext, Poll, Waker},
    };

    use super::*;

    const HERE: KeyContext<'_> = KeyContext {
        purpose: "tenant",
        tenant: "t_1",
        epoch: 1,
    };

    /// The file backend never waits, so one poll is enough.
    fn now<F: Future>(future: F) -> F::Output {
        match pin!(future).poll(&mut TaskContext::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("the file backend waited"),
        }
    }

    #[test]
    fn unwraps_under_its_own_words_and_root_only() {
        let dir = tempfile::tempdir().unwrap();
        let keys = FileKeys::open_or_create(&dir.path().join("root")).unwrap();
        let made = now(keys.generate(&HERE)).unwrap();
        let again = FileKeys::open(&dir.path().join("root")).unwrap();
        assert!(
            now(again.unwrap(&HERE, &made.wrapped))
                .unwrap()
                .matches(made.key.expose())
        );

        let other = FileKeys::open_or_create(&dir.path().join("other")).unwrap();
        let refused = [
            now(other.unwrap(&HERE, &made.wrapped)),
            now(keys.unwrap(
                &KeyContext {
                    purpose: "x",
                    ..HERE
                },
                &made.wrapped,
            )),
            now(keys.unwrap(
                &KeyContext {
                    tenant: "t_2",
                    ..HERE
                },
                &made.wrapped,
            )),
            now(keys.unwrap(&KeyContext { epoch: 2, ..HERE }, &made.wrapped)),
            now(keys.unwrap(&HERE, &made.wrapped[..40])),
            now(keys.unwrap(&HERE, b"")),
        ];
        for result in refused {
            assert!(matches!(result, Err(KeyError::Damaged)));
        }
        assert!(matches!(
            now(keys.unwrap(&HERE, &[2; 61])),
            Err(KeyError::Newer)
        ));
    }

    #[test]
    fn an_earlier_root_still_opens_and_is_wrapped_anew() {
        let dir = tempfile::tempdir().unwrap();
        let open = |name: &str| FileKeys::open_or_create(&dir.path().join(name)).unwrap();
        let made = now(open("old").generate(&HERE)).unwrap();
        assert!(now(open("new").unwrap(&HERE, &made.wrapped)).is_err());
        let keys = open("new").after(open("old").after(open("oldest")));
        assert_eq!(keys.id(), open("new").id());
        let opened = now(keys.unwrap(&HERE, &made.wrapped)).unwrap();
        assert!(opened.matches(made.key.expose()));
        let wrapped = now(keys.rewrap(&HERE, &made.wrapped)).unwrap().unwrap();
        assert!(now(keys.rewrap(&HERE, &wrapped)).unwrap().is_none());
        let opened = now(open("new").unwrap(&HERE, &wrapped)).unwrap();
        assert!(opened.matches(made.key.expose()));
        let elsewhere = KeyContext { epoch: 2, ..HERE };
        let refused = now(keys.rewrap(&elsewhere, &made.wrapped));
        assert!(matches!(refused, Err(KeyError::Damaged)));
    }

    #[test]
    fn generated_keys_differ() {
        let dir = tempfile::tempdir().unwrap();
        let keys = FileKeys::open_or_create(&dir.path().join("root")).unwrap();
        let (a, b) = (
            now(keys.generate(&HERE)).unwrap(),
            now(keys.generate(&HERE)).unwrap(),
        );
        assert!(!a.key.matches(b.key.expose()));
    }

    #[test]
    fn a_file_others_may_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("root");
        let id = FileKeys::open_or_create(&path).unwrap().id().to_owned();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(
            FileKeys::open_or_create(&path),
            Err(KeyError::File(_))
        ));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(FileKeys::open(&path).unwrap().id(), id);
        fs::write(&path, "gatehouse-root-key 2 AAAA\n").unwrap();
        assert!(matches!(
            FileKeys::open_or_create(&path),
            Err(KeyError::Newer)
        ));
    }
}
