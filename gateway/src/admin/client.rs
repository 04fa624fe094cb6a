//! Asking: over the socket of a running gateway, else with the files opened here.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    time::Duration,
};

use super::{Answer, Office, OfficeError, Request, SOCKET};
use crate::config::Config;

/// How long the gateway may take to answer.
const PATIENCE: Duration = Duration::from_secs(90);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The socket is there, but talking over it failed.
    #[error("the running gateway's admin socket: {0}")]
    Socket(#[source] io::Error),
    /// What came back is nothing that this version understands.
    #[error("the running gateway is of another version")]
    Version,
    /// There is no gateway to ask, and its files could not be opened.
    #[error(transparent)]
    Office(#[from] OfficeError),
    /// There is no gateway to ask, and nobody said how long keys are to be kept.
    #[error(
        "no gateway runs here, and --config FILE is missing: it says how long keys of ended sessions are kept"
    )]
    Untold,
    /// There is no runtime to open the files with.
    #[error("the runtime: {0}")]
    Runtime(#[source] io::Error),
}

/// Asks the gateway that runs on the configuration's data directory; if none runs, opens its files,
/// answers, and closes them. `is_told`: whether somebody gave the configuration, or it is what there is without
/// one. Blocks.
pub fn ask(config: &Config, is_told: bool, request: Request) -> Result<Answer, AskError> {
    match UnixStream::connect(config.data_dir.join(SOCKET)) {
        Ok(stream) => over_socket(stream, &request),
        // No gateway, or one that is gone and left its file.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            match request.retires() && !is_told {
                true => Err(AskError::Untold),
                false => alone(config, request),
            }
        }
        Err(error) => Err(AskError::Socket(error)),
    }
}

fn over_socket(stream: UnixStream, request: &Request) -> Result<Answer, AskError> {
    let answer = || {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        (&stream).write_all(&line)?;
        let mut answer = String::new();
        BufReader::new(&stream).read_line(&mut answer)?;
        Ok(answer)
    };
    let answer = answer().map_err(AskError::Socket)?;
    serde_json::from_str(&answer).map_err(|_| AskError::Version)
}

fn alone(config: &Config, request: Request) -> Result<Answer, AskError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(AskError::Runtime)?;
    runtime.block_on(async {
        let by = own().map_err(AskError::Runtime)?;
        if !request.changes() {
            let desk = Office::reading_desk(config).await?;
            return Ok(desk.answer(request, &by).await);
        }
        if !request.begins() {
            Office::must_be_there(config)?;
        }
        let office = Office::open(config).await?;
        let answer = office.desk().answer(request, &by).await;
        office.close().await?;
        Ok(answer)
    })
}

/// Who runs this program, for the records of what it does.
fn own() -> io::Result<String> {
    // The other end of a socket of one's own is oneself.
    let (end, _other) = tokio::net::UnixStream::pair()?;
    Ok(format!("uid:{}", end.peer_cred()?.uid()))
}
