//! A wire to an HTTP server that remembers what was sent, and fails as it is told to.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::Duration,
};

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It goes on, and its answer comes back.
    Passes,
    /// The connection ends before the server has it.
    Cut,
    /// The server does it, and the answer is lost with the connection.
    Swallowed,
    /// Nobody answers, for as long as this is what the rule says; then the connection ends.
    Silent,
    /// It is answered here, as AWS answers in JSON: a status, and the error's code.
    Refused(u16, &'static str),
    /// It is answered here with 200 and this body.
    Answered(String),
}

/// A request as it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// The method, the path and all header lines, up to the empty line.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: Vec<u8>,
}

impl Sent {
    /// A header's value, if it was sent once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.head.lines().skip(1).filter_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        });
        values.next().filter(|_| values.next().is_none())
    }

    /// The operation, for services that name it in a header: `Decrypt`, `PutItem`.
    pub(crate) fn operation(&self) -> &str {
        let target = self.header("x-amz-target").unwrap_or_default();
        target.rsplit('.').next().unwrap_or_default()
    }
}

type Rule = Arc<dyn Fn(&Sent) -> Fate + Send + Sync>;

#[derive(Clone)]
struct State {
    to: u16,
    rule: Arc<Mutex<Rule>>,
    sent: Arc<Mutex<Vec<Sent>>>,
}

/// Forwards requests to a server on the loopback address.
pub(crate) struct Front {
    port: u16,
    state: State,
}

impl Front {
    /// A wire to a port.
    pub(crate) fn to(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let here = listener.local_addr().unwrap().port();
        let rule: Rule = Arc::new(|_| Fate::Passes);
        let state = State {
            to: port,
            rule: Arc::new(Mutex::new(rule)),
            sent: Arc::default(),
        };
        let shared = state.clone();
        std::thread::spawn(move || {
            for caller in listener.incoming().flatten() {
                let state = shared.clone();
                // A connection that breaks is the caller's to notice.
                std::thread::spawn(move || state.carry(&caller));
            }
        });
        Self { port: here, state }
    }

    /// Where it listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Its address, in place of the server's own.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What becomes of every request from now on.
    pub(crate) fn set(&self, fate: Fate) {
        self.rule(move |_| fate.clone());
    }

    /// The same, by what is asked.
    pub(crate) fn rule(&self, rule: impl Fn(&Sent) -> Fate + Send + Sync + 'static) {
        *self.state.rule.lock().unwrap() = Arc::new(rule);
    }

    /// Everything that was sent, the oldest first, whatever became of it.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.state.sent.lock().unwrap().clone()
    }

    /// How many requests for one operation were sent.
    pub(crate) fn count(&self, operation: &str) -> usize {
        let sent = self.state.sent.lock().unwrap();
        sent.iter().filter(|it| it.operation() == operation).count()
    }
}

impl State {
    fn fate(&self, sent: &Sent) -> Fate {
        let rule = Arc::clone(&self.rule.lock().unwrap());
        rule(sent)
    }

    /// One request after the other, until the caller hangs up or one of them fails.
    fn carry(&self, caller: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(caller);
        while let Some(sent) = read(&mut reader, caller)? {
            self.sent.lock().unwrap().push(sent.clone());
            match self.fate(&sent) {
                Fate::Passes => {
                    let answer = self.forward(&sent)?;
                    (&*caller).write_all(&answer)?;
                    // The server's answer ends with its connection, so this one's does too.
                    return caller.shutdown(Shutdown::Both);
                }
                Fate::Cut => return caller.shutdown(Shutdown::Both),
                Fate::Swallowed => {
                    self.forward(&sent)?;
                    return caller.shutdown(Shutdown::Both);
                }
                Fate::Silent => {
                    while self.fate(&sent) == Fate::Silent {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    return caller.shutdown(Shutdown::Both);
                }
                Fate::Refused(status, code) => {
                    let body = format!(r#"{{"__type":"{code}","message":"as the test wants"}}"#);
                    answer(caller, status, &body)?;
                }
                Fate::Answered(body) => answer(caller, 200, &body)?,
            }
        }
        Ok(())
    }

    fn forward(&self, sent: &Sent) -> io::Result<Vec<u8>> {
        let mut server = TcpStream::connect(("127.0.0.1", self.to))?;
        let head = sent.head.lines().filter(|line| {
            let name = line.split(':').next().unwrap_or_default();
            !name.eq_ignore_ascii_case("connection") && !name.eq_ignore_ascii_case("expect")
        });
        let mut head: String = head.map(|line| format!("{line}\r\n")).collect();
        head.push_str("connection: close\r\n\r\n");
        server.write_all(head.as_bytes())?;
        server.write_all(&sent.body)?;
        let mut answer = Vec::new();
        server.read_to_end(&mut answer)?;
        Ok(answer)
    }
}

/// The next request; `None` at the end.
fn read(reader: &mut BufReader<&TcpStream>, caller: &TcpStream) -> io::Result<Option<Sent>> {
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        head.push_str(line);
        head.push_str("\r\n");
    }
    let mut sent = Sent {
        head,
        body: Vec::new(),
    };
    if sent.header("expect").is_some() {
        (&*caller).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    assert!(
        sent.header("transfer-encoding").is_none(),
        "the SDK says how long its bodies are"
    );
    let length = sent.header("content-length").unwrap_or("0");
    sent.body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut sent.body)?;
    Ok(Some(sent))
}

fn answer(mut caller: &TcpStream, status: u16, body: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} Answered\r\ncontent-type: application/x-amz-json-1.1\r\n\
         x-amzn-requestid: test\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    caller.write_all(head.as_bytes())?;
    caller.write_all(body.as_bytes())
}
