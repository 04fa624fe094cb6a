//! The admin socket: a file of mode 0600 in the data directory.

use std::{
    fs::{self, DirBuilder, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use gatehouse_envelope::random;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    task::JoinSet,
};

use super::{Answer, Desk, Request, SOCKET, protocol::MAX_REQUEST};

/// How long one exchange over the socket may take, the work included.
const PATIENCE: Duration = Duration::from_secs(60);
/// Operators at once; the next one waits.
const AT_ONCE: usize = 16;

/// A socket that listens. Its file is removed when this is dropped.
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// The user whose file it is: this process's own.
    owner: u32,
}

impl Socket {
    /// Listens in `data_dir`. A file that an earlier process left there is replaced, so the caller
    /// must be the one process that has the data directory's database open.
    pub fn bind(data_dir: &Path) -> io::Result<Self> {
        let path = data_dir.join(SOCKET);
        // Bound where nobody else can reach it, closed to others, and only then put in its place:
        // at no time is there a socket that another user could open.
        let suffix = random::name(".admin-").map_err(io::Error::other)?;
        let room = data_dir.join(suffix);
        DirBuilder::new().mode(0o700).create(&room)?;
        let draft = room.join("s");
        let bound = UnixListener::bind(&draft).and_then(|listener| {
            fs::set_permissions(&draft, Permissions::from_mode(0o600))?;
            let owner = fs::metadata(&draft)?.uid();
            fs::rename(&draft, &path)?;
            Ok((listener, owner))
        });
        let cleared = fs::remove_dir_all(&room);
        let (listener, owner) = bound?;
        cleared?;
        Ok(Self {
            listener,
            path,
            owner,
        })
    }

    /// Answers operators until `stop` resolves.
    pub async fn serve(self, desk: Arc<Desk>, stop: impl Future<Output = ()> + Send) {
        let mut stop = std::pin::pin!(stop);
        let mut talks = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                Some(_ended) = talks.join_next(), if !talks.is_empty() => continue,
                accepted = self.listener.accept(), if talks.len() < AT_ONCE => accepted,
            };
            match accepted {
                Ok((stream, _)) => match self.peer(&stream) {
                    Some(uid) => drop(talks.spawn(talk(stream, uid, Arc::clone(&desk)))),
                    None => {
                        tracing::warn!("another user's process was turned away from the socket");
                    }
                },
                Err(error) => {
                    tracing::warn!(%error, "the admin socket");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        // What an operator began is finished.
        while talks.join_next().await.is_some() {}
    }

    /// Who is at the other end, if it is one who may be. The mode keeps others out already; this holds
    /// even where a file system ignores it.
    fn peer(&self, stream: &UnixStream) -> Option<u32> {
        let uid = stream.peer_cred().ok()?.uid();
        (uid == self.owner || uid == 0).then_some(uid)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Whoever starts next replaces a file that stays.
        let _gone = fs::remove_file(&self.path);
    }
}

async fn talk(stream: UnixStream, uid: u32, desk: Arc<Desk>) {
    let exchanged = tokio::time::timeout(PATIENCE, exchange(stream, uid, &desk)).await;
    match exchanged {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "an operator hung up"),
        Err(_) => tracing::warn!("an exchange over the admin socket took too long"),
    }
}

async fn exchange(stream: UnixStream, uid: u32, desk: &Desk) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut line = Vec::new();
    let mut read = BufReader::new(read.take(MAX_REQUEST));
    read.read_until(b'\n', &mut line).await?;
    let answer = match serde_json::from_slice::<Request>(&line) {
        Ok(request) => desk.answer(request, &format!("uid:{uid}")).await,
        Err(_) => Answer::Failed {
            why: "not a request that this version understands".to_owned(),
        },
    };
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    write.write_all(&line).await?;
    write.shutdown().await
}
