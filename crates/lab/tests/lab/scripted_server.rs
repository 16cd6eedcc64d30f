//! A target that does what a test's script says, byte by byte: plain threads over plain sockets, so that nothing
//! between the test and the network is clever. The script decides for each request what is written, in which pieces,
//! and whether the connection stays open.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The reaction to a request.
#[derive(Clone, Debug)]
pub(crate) enum ResponseAction {
    /// Writes these bytes at once.
    Write(Vec<u8>),
    /// Writes them one by one.
    WriteByteByByte(Vec<u8>),
    /// Waits until the latch is opened.
    Wait(Arc<Latch>),
    Stall(Duration),
    /// Sends close_notify, if the connection uses TLS, and closes it.
    TlsClose,
    /// Closes the connection in order; the next request comes over another one.
    Close,
    Reset,
}

/// A request as the script sees it.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    /// Counted from 0 over all connections.
    pub(crate) number: u64,
    /// The connection, counted from 0.
    pub(crate) connection: u64,
    /// The request's number on its connection, counted from 0.
    pub(crate) connection_turn: u64,
    /// Its first line and headers.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Opened once, for all that wait.
#[derive(Debug, Default)]
pub(crate) struct Latch(Mutex<bool>, Condvar);

impl Latch {
    pub(crate) fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    pub(crate) fn is_open(&self) -> bool {
        *self.0.lock().unwrap()
    }

    pub(crate) fn wait(&self) {
        drop(self.1.wait_while(self.0.lock().unwrap(), |open| !*open).unwrap());
    }
}

#[derive(Debug)]
pub(crate) struct ScriptedServer {
    pub(crate) address: SocketAddr,
    log: Arc<ServerLog>,
}

#[derive(Debug, Default)]
struct ServerLog {
    connections: AtomicU64,
    peers: Mutex<Vec<std::net::IpAddr>>,
    requests: AtomicU64,
    requests_received: Mutex<Vec<ReceivedRequest>>,
    streams: Mutex<BTreeMap<u64, TcpStream>>,
    changed: Condvar,
    arrived: Condvar,
}

type Script = Arc<dyn Fn(&ReceivedRequest) -> Vec<ResponseAction> + Send + Sync>;

impl ScriptedServer {
    /// Listens on a free port until the process ends.
    pub(crate) fn start(script: impl Fn(&ReceivedRequest) -> Vec<ResponseAction> + Send + Sync + 'static) -> Self {
        let open = Arc::new(Latch::default());
        open.open();
        Self::slow(script, open)
    }

    /// The same over TLS.
    pub(crate) fn secure(
        script: impl Fn(&ReceivedRequest) -> Vec<ResponseAction> + Send + Sync + 'static,
        config: Arc<ServerConfig>,
    ) -> Self {
        let open = Arc::new(Latch::default());
        open.open();
        Self::listen(Arc::new(script), open, Some(config))
    }

    /// A plain one that reads nothing before the latch is opened.
    pub(crate) fn slow(
        script: impl Fn(&ReceivedRequest) -> Vec<ResponseAction> + Send + Sync + 'static,
        gate: Arc<Latch>,
    ) -> Self {
        Self::listen(Arc::new(script), gate, None)
    }

    fn listen(script: Script, gate: Arc<Latch>, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<ServerLog> = Arc::default();
        let counted = seen.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let connection = counted.connections.fetch_add(1, Ordering::SeqCst);
                counted.streams.lock().unwrap().insert(connection, stream.try_clone().unwrap());
                counted.peers.lock().unwrap().extend(stream.peer_addr().map(|peer| peer.ip()));
                counted.arrived.notify_all();
                let (seen, script, gate, tls) = (counted.clone(), script.clone(), gate.clone(), tls.clone());
                std::thread::spawn(move || {
                    gate.wait();
                    let wire = match tls {
                        None => ServerStream::Plain(stream),
                        Some(config) => {
                            let session = ServerConnection::new(config).unwrap();
                            ServerStream::Tls(Box::new(StreamOwned::new(session, stream)))
                        }
                    };
                    serve(wire, connection, &seen, &script);
                    seen.streams.lock().unwrap().remove(&connection);
                });
            }
        });
        Self { address, log: seen }
    }

    pub(crate) fn connections(&self) -> u64 {
        self.log.connections.load(Ordering::SeqCst)
    }

    /// The peer addresses of the connections.
    pub(crate) fn peers(&self) -> Vec<std::net::IpAddr> {
        self.log.peers.lock().unwrap().clone()
    }

    /// Closes a connection in order.
    pub(crate) fn hang_up(&self, connection: u64) {
        self.log.streams.lock().unwrap()[&connection].shutdown(Shutdown::Both).unwrap();
    }

    /// Closes its own side of a connection, and continues to read.
    pub(crate) fn half_close(&self, connection: u64) {
        self.log.streams.lock().unwrap()[&connection].shutdown(Shutdown::Write).unwrap();
    }

    /// Sends bytes that answer no request.
    pub(crate) fn send_unsolicited(&self, connection: u64, bytes: &[u8]) {
        (&self.log.streams.lock().unwrap()[&connection]).write_all(bytes).unwrap();
    }

    pub(crate) fn requests(&self) -> u64 {
        self.log.requests.load(Ordering::SeqCst)
    }

    /// All requests so far.
    pub(crate) fn received_requests(&self) -> Vec<ReceivedRequest> {
        self.log.requests_received.lock().unwrap().clone()
    }

    /// Waits until there were so many connections.
    pub(crate) fn await_connections(&self, count: usize) {
        let peers = self.log.peers.lock().unwrap();
        drop(self.log.arrived.wait_while(peers, |peers| peers.len() < count).unwrap());
    }

    /// Waits until there were so many requests.
    pub(crate) fn await_requests(&self, count: usize) {
        let asked = self.log.requests_received.lock().unwrap();
        drop(self.log.changed.wait_while(asked, |asked| asked.len() < count).unwrap());
    }
}

/// A connection of the target.
enum ServerStream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl ServerStream {
    fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(tls) => &tls.sock,
        }
    }
}

impl Read for ServerStream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(tls) => tls.read(buffer),
        }
    }
}

impl Write for ServerStream {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(tls) => tls.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(tls) => tls.flush(),
        }
    }
}

fn serve(mut stream: ServerStream, connection: u64, seen: &ServerLog, script: &Script) {
    let _ = stream.socket().set_nodelay(true);
    let mut waiting = Vec::new();
    for turn in 0.. {
        let Some((head, body)) = read_request(&mut stream, &mut waiting) else { return };
        let number = seen.requests.fetch_add(1, Ordering::SeqCst);
        let asked = ReceivedRequest { number, connection, connection_turn: turn, head, body };
        let actions = script(&asked);
        seen.requests_received.lock().unwrap().push(asked);
        seen.changed.notify_all();
        if !actions.into_iter().all(|action| perform(action, &mut stream)) {
            return;
        }
    }
}

/// Carries out an action; returns whether the connection stays open.
fn perform(action: ResponseAction, stream: &mut ServerStream) -> bool {
    match action {
        ResponseAction::Write(bytes) => stream.write_all(&bytes).and_then(|()| stream.flush()).is_ok(),
        ResponseAction::WriteByteByByte(bytes) => bytes.iter().all(|byte| {
            std::thread::yield_now();
            stream.write_all(&[*byte]).and_then(|()| stream.flush()).is_ok()
        }),
        ResponseAction::Wait(gate) => {
            gate.wait();
            true
        }
        ResponseAction::Stall(time) => {
            std::thread::sleep(time);
            true
        }
        ResponseAction::TlsClose => {
            if let ServerStream::Tls(tls) = stream {
                tls.conn.send_close_notify();
                let _ = tls.flush();
            }
            let _ = stream.socket().shutdown(Shutdown::Both);
            false
        }
        ResponseAction::Close => {
            let _ = stream.socket().shutdown(Shutdown::Both);
            false
        }
        ResponseAction::Reset => {
            // Closing with a linger of zero seconds resets.
            let _ = socket2::SockRef::from(stream.socket()).set_linger(Some(Duration::ZERO));
            false
        }
    }
}

fn read_request(stream: &mut ServerStream, waiting: &mut Vec<u8>) -> Option<(String, String)> {
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = waiting.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(waiting[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let whole = end + 4 + length.map_or(0, |length| length.parse().unwrap());
            if waiting.len() >= whole {
                let body = String::from_utf8(waiting[end + 4..whole].to_vec()).unwrap();
                waiting.drain(..whole);
                return Some((head, body));
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => waiting.extend_from_slice(&buffer[..count]),
        }
    }
}

/// A response with a body and its length.
pub(crate) fn response(status: u16, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} Status\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A single plain 200 response.
pub(crate) fn ok() -> Vec<ResponseAction> {
    vec![ResponseAction::Write(response(200, "ok"))]
}
