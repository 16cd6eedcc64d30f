//! A DNS server on loopback whose answers follow from the first label of the name.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Notify;

const A: u16 = 1;
const NS: u16 = 2;
const CNAME: u16 = 5;
/// The question begins behind the header.
const HEADER_BYTES: usize = 12;
/// Most addresses of a name: as many as fit into the 512 bytes of a datagram without EDNS.
pub(super) const MANY: u8 = 28;

#[derive(Default)]
struct Shared {
    /// Questions for IPv4 addresses that came, by name.
    asked: Mutex<BTreeMap<String, u32>>,
    arrived: Notify,
    /// Answers nothing at all.
    is_silent: AtomicBool,
    answers: AtomicU32,
}

pub(super) struct DnsServer {
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
}

impl DnsServer {
    pub(super) async fn new() -> Self {
        let shared = Arc::new(Shared::default());
        // The same port for both transports: another test may have the second one's, so it is tried again.
        let (udp, tcp) = loop {
            let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()).await {
                break (udp, tcp);
            }
        };
        let address = udp.local_addr().unwrap();
        tokio::spawn(serve_udp(udp, shared.clone()));
        tokio::spawn(serve_tcp(tcp, shared.clone()));
        Self { address, shared }
    }

    pub(super) fn silence(&self) {
        self.shared.is_silent.store(true, Relaxed);
    }

    /// Names that were asked for, with the number of questions.
    pub(super) fn asked(&self) -> BTreeMap<String, u32> {
        self.shared.asked.lock().unwrap().clone()
    }

    /// Waits until this many names were asked for.
    pub(super) async fn wait_for_names(&self, count: usize) {
        loop {
            let arrived = self.shared.arrived.notified();
            if self.asked().len() >= count {
                return;
            }
            arrived.await;
        }
    }
}

async fn serve_udp(socket: UdpSocket, shared: Arc<Shared>) {
    let mut bytes = [0; 1_024];
    while let Ok((count, from)) = socket.recv_from(&mut bytes).await {
        if let Some(answer) = answer(&bytes[..count], true, &shared) {
            let _ = socket.send_to(&answer, from).await;
        }
    }
}

async fn serve_tcp(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve_stream(stream, shared.clone()));
    }
}

async fn serve_stream(mut stream: TcpStream, shared: Arc<Shared>) {
    while let Ok(count) = stream.read_u16().await {
        let mut bytes = vec![0; count.into()];
        if stream.read_exact(&mut bytes).await.is_err() {
            return;
        }
        if let Some(answer) = answer(&bytes, false, &shared) {
            let framed = [&(answer.len() as u16).to_be_bytes()[..], &answer].concat();
            let _ = stream.write_all(&framed).await;
        }
    }
}

/// `None`: silence.
fn answer(query: &[u8], is_udp: bool, shared: &Shared) -> Option<Vec<u8>> {
    let (name, end) = name_of(query)?;
    let kind = u16::from_be_bytes([query[end], query[end + 1]]);
    if kind == A {
        *shared.asked.lock().unwrap().entry(name.clone()).or_default() += 1;
        shared.arrived.notify_waiters();
    }
    if shared.is_silent.load(Relaxed) {
        return None;
    }
    let question = &query[HEADER_BYTES..end + 4];
    let reply = |flags: u16, records: Vec<Vec<u8>>| {
        let mut bytes = query[..2].to_vec();
        for field in [0x8180 | flags, 1, records.len() as u16, 0, 0] {
            bytes.extend(field.to_be_bytes());
        }
        bytes.extend(question);
        bytes.extend(records.concat());
        Some(bytes)
    };
    let address = |address: [u8; 4]| record(A, &Ipv4Addr::from(address).octets());
    let of_family = |records: Vec<Vec<u8>>| reply(0, if kind == A { records } else { vec![] });
    match name.split('.').next().unwrap_or_default().trim_end_matches(|char: char| char.is_ascii_digit()) {
        "" if kind == NS => reply(0, vec![record(NS, &[1, b'a', 0])]),
        "ok" => of_family(vec![address([127, 0, 0, 1])]),
        "changes" if kind == A => reply(0, vec![address([127, 0, 0, shared.answers.fetch_add(1, Relaxed) as u8 + 1])]),
        "many" => of_family((1..=MANY).map(|last| address([127, 0, 1, last])).collect()),
        "truncated" if is_udp => reply(0x200, vec![]),
        "truncated" => of_family((1..=MANY).map(|last| address([127, 0, 2, last])).collect()),
        "loop" => reply(0, vec![record(CNAME, &[0xc0, HEADER_BYTES as u8])]),
        "half" if kind != A => None,
        "half" => reply(0, vec![address([127, 0, 0, 1])]),
        "failing" => reply(2, vec![]),
        "refused" => reply(5, vec![]),
        "dead" => None,
        _ => reply(3, vec![]),
    }
}

/// A record of the question's name with the shortest time to live.
fn record(kind: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xc0, HEADER_BYTES as u8];
    for field in [kind, 1, 0, 0, data.len() as u16] {
        bytes.extend(field.to_be_bytes());
    }
    bytes.extend(data);
    bytes
}

/// The question's name in small letters, and where it ends.
fn name_of(query: &[u8]) -> Option<(String, usize)> {
    let (mut at, mut labels) = (HEADER_BYTES, Vec::new());
    loop {
        let length = usize::from(*query.get(at)?);
        at += 1;
        if length == 0 {
            return (query.len() >= at + 4).then(|| (labels.join("."), at));
        }
        labels.push(String::from_utf8_lossy(query.get(at..at + length)?).to_ascii_lowercase());
        at += length;
    }
}
