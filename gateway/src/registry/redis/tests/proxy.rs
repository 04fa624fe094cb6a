//! A wire to a server that can be cut, slowed, or swallow what the server answers.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU16, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;

/// What becomes of what is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Wire {
    Good,
    /// Nothing arrives: connections end, and new ones end at once.
    Cut,
    /// All arrives, and the answer is lost with the connection.
    Swallows,
    /// All arrives, and no answer comes, for as long as this lasts.
    Silent,
}

/// Forwards connections to a server's port.
pub(crate) struct Proxy {
    port: u16,
    server: Arc<AtomicU16>,
    wire: Arc<AtomicU8>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    pub(crate) fn to(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let wire = Arc::new(AtomicU8::new(Wire::Good as u8));
        let open = Arc::new(Mutex::new(Vec::new()));
        let server = Arc::new(AtomicU16::new(server));
        let (state, streams) = (Arc::clone(&wire), Arc::clone(&open));
        let to = Arc::clone(&server);
        std::thread::spawn(move || {
            for caller in listener.incoming().flatten() {
                if is(&state, Wire::Cut) {
                    continue;
                }
                let to = to.load(Ordering::SeqCst);
                if let Ok(server) = TcpStream::connect(("127.0.0.1", to)) {
                    forward(caller, server, &state, &streams).unwrap();
                }
            }
        });
        Self {
            port,
            server,
            wire,
            open,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// New connections lead to another server, as after a fail-over; those that stand end.
    pub(crate) fn lead_to(&self, server: u16) {
        self.server.store(server, Ordering::SeqCst);
        self.set(Wire::Cut);
        self.set(Wire::Good);
    }

    pub(crate) fn set(&self, wire: Wire) {
        self.wire.store(wire as u8, Ordering::SeqCst);
        if wire == Wire::Cut {
            for stream in self.open.lock().drain(..) {
                // It may have ended already.
                let _ended = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

fn is(state: &AtomicU8, wire: Wire) -> bool {
    state.load(Ordering::SeqCst) == wire as u8
}

fn forward(
    caller: TcpStream,
    server: TcpStream,
    state: &Arc<AtomicU8>,
    streams: &Mutex<Vec<TcpStream>>,
) -> io::Result<()> {
    streams
        .lock()
        .extend([caller.try_clone()?, server.try_clone()?]);
    let (mut from, mut to) = (caller.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || {
        let _ended = io::copy(&mut from, &mut to);
    });
    let state = Arc::clone(state);
    std::thread::spawn(move || answers(server, caller, &state));
    Ok(())
}

/// Carries the server's answers, as the wire is when each piece comes.
fn answers(mut server: TcpStream, mut caller: TcpStream, state: &AtomicU8) {
    let mut piece = [0; 16 << 10];
    while let Ok(length @ 1..) = server.read(&mut piece) {
        while is(state, Wire::Silent) {
            std::thread::sleep(Duration::from_millis(5));
        }
        if is(state, Wire::Swallows) || caller.write_all(&piece[..length]).is_err() {
            break;
        }
    }
    let _ended = (
        server.shutdown(Shutdown::Both),
        caller.shutdown(Shutdown::Both),
    );
}
