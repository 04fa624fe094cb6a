//! `gatehouse health`: whether the gateway beside this process is ready, for probes that run a command,
//! since health is served on a loopback address only.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    time::{Duration, Instant},
};

use super::{Failure, Output};
use crate::config::{Config, Environment};

/// How long connecting and the answer may take, all in all.
const PATIENCE: Duration = Duration::from_secs(3);
/// The longest status line worth reading.
const LINE: usize = 128;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The configuration that says where health is served, and nothing else of it is looked at.
    #[arg(long, value_name = "FILE", conflicts_with = "admin")]
    config: Option<PathBuf>,
    /// The address itself: a loopback address and port, 127.0.0.1:8081 if nothing is said.
    #[arg(long, value_name = "ADDR")]
    admin: Option<SocketAddr>,
}

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let address = match (&arguments.config, arguments.admin) {
        (_, Some(address)) if !address.ip().is_loopback() => {
            return Err(Failure::Usage("--admin: not a loopback address".to_owned()));
        }
        (_, Some(address)) => address,
        (file, None) => Config::admin_listen(file.as_deref(), &Environment::of_process())?,
    };
    if address.port() == 0 {
        let why = "admin_listen names no port; say --admin ADDR";
        return Err(Failure::Usage(why.to_owned()));
    }
    match status(address) {
        Ok(200) => Ok(output.line("ready")?),
        Ok(503) => Err(Failure::Failed("not ready".to_owned())),
        Ok(status) => Err(Failure::Failed(format!(
            "{address} answers {status}: no gateway"
        ))),
        Err(error) => Err(Failure::of(&format!("no answer from {address}"), error)),
    }
}

/// The status of `/readyz`.
fn status(address: SocketAddr) -> io::Result<u16> {
    let until = Instant::now() + PATIENCE;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = format!("GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut head = Vec::with_capacity(LINE);
    while !head.contains(&b'\n') && head.len() < LINE {
        // Whoever sends a byte a second has no more time than all the others.
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let mut part = [0; LINE];
        match stream.read(&mut part)? {
            0 => break,
            read => head.extend_from_slice(part.get(..read).unwrap_or(&part)),
        }
    }
    code(&head).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not HTTP"))
}

/// The code in a status line.
fn code(head: &[u8]) -> Option<u16> {
    let line = head.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    words.next().filter(|word| word.starts_with("HTTP/1."))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn codes() {
        for (head, wanted) in [
            (&b"HTTP/1.1 200 OK\r\nx: y"[..], Some(200)),
            (b"HTTP/1.0 503 x\n", Some(503)),
            (b"SSH-2.0-OpenSSH 200\r\n", None),
            (b"HTTP/1.1 2\xff0\r\n", None),
            (b"HTTP/1.1", None),
            (b"", None),
        ] {
            assert_eq!(code(head), wanted, "{head:?}");
        }
    }

    #[test]
    fn an_answer_in_pieces_and_one_that_is_none() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let served = std::thread::spawn(move || {
            for answer in [&["HTTP/1.1 5", "03 no\r\n\r\n"][..], &[], &["\n"]] {
                let (mut stream, _) = listener.accept().unwrap();
                let mut asked = [0; 20];
                stream.read_exact(&mut asked).unwrap();
                assert_eq!(&asked, b"GET /readyz HTTP/1.1");
                for part in answer {
                    stream.write_all(part.as_bytes()).unwrap();
                    stream.flush().unwrap();
                }
            }
        });
        assert_eq!(status(address).unwrap(), 503);
        // Closing with something unread may reach the asker as a reset; no status either way.
        assert!(status(address).is_err());
        assert!(status(address).is_err());
        served.join().unwrap();
        assert!(status(address).is_err(), "nobody listens");
    }
}
