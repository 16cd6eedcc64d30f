//! A hunter with its own connection: frames of protocol buffers over TCP, one after the other.

use super::PATIENCE;
use prost::Message;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use wire::delimited;
use wire::world::{
    Cell, ClientFrame, ClientMessage, Dig, Error, Grab, Hello, Item, ItemKind, Leave, Move, Register, Registered,
    Resume, ServerFrame, ServerMessage, Step, VERSION, ViewOptions,
};

/// A mover that has entered a world.
pub(crate) struct Hunter {
    connection: FrameConnection,
    pub(crate) registered: Registered,
    /// Of the next input.
    pub(crate) seq: u32,
    /// The cell on which it stands, and those on which it stood.
    pub(crate) trail: Vec<(u32, u32)>,
}

/// A connection that carries frames.
pub(crate) struct FrameConnection {
    stream: TcpStream,
    unread: Vec<u8>,
}

/// What a hunter took.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TakenItem {
    pub(crate) cell: (u32, u32),
    pub(crate) request: ClientMessage,
    pub(crate) answer: ServerMessage,
}

impl TakenItem {
    /// What it was worth: nothing, but for chests.
    pub(crate) fn points(&self) -> u32 {
        if let ServerMessage::Dug(dug) = &self.answer { dug.points } else { 0 }
    }
}

/// A registration at this cell.
pub(crate) fn at(world: &str, (x, y): (u32, u32)) -> Register {
    Register { world: world.to_owned(), at: Some(Cell { x, y }), ..Register::default() }
}

/// The same, looking as far as it goes.
pub(crate) fn looking(register: Register) -> Register {
    Register { view: Some(ViewOptions { radius_x: 20, radius_y: 20, per_s: 20 }), ..register }
}

impl Hunter {
    /// Enters, or returns the error.
    pub(crate) fn try_enter(address: SocketAddr, register: Register) -> Result<Self, Error> {
        let mut connection = FrameConnection::open(address);
        connection.send(&[hello(), ClientMessage::Register(register)]);
        match (connection.next(), connection.next()) {
            (Some(ServerMessage::Welcome(_)), Some(ServerMessage::Registered(registered))) => {
                let trail = vec![(registered.x, registered.y)];
                Ok(Self { connection, registered, seq: registered.next_seq, trail })
            }
            (Some(ServerMessage::Welcome(_)), Some(ServerMessage::Error(error))) => Err(error),
            other => panic!("neither let in nor turned away: {other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn enter(address: SocketAddr, register: Register) -> Self {
        Self::try_enter(address, register).unwrap_or_else(|error| panic!("not let in: {error:?}"))
    }

    /// How it comes back.
    pub(crate) fn resume(&self) -> Option<Resume> {
        Some(Resume { id: self.registered.id, key: self.registered.key })
    }

    pub(crate) fn cell(&self) -> (u32, u32) {
        *self.trail.last().unwrap()
    }

    /// Sends an input without waiting for the answer.
    pub(crate) fn send(&mut self, request: &ClientMessage) {
        self.connection.send(std::slice::from_ref(request));
    }

    /// Sends an input; returns the answer.
    #[track_caller]
    pub(crate) fn request(&mut self, request: &ClientMessage) -> ServerMessage {
        self.send(request);
        self.answer()
    }

    /// The next answer; what comes by itself is passed over.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> ServerMessage {
        loop {
            match self.connection.next() {
                Some(ServerMessage::View(_) | ServerMessage::Round(_)) => {}
                Some(message) => return message,
                None => panic!("no answer came"),
            }
        }
    }

    /// What lies there, once so many things do.
    pub(crate) fn see_items(&mut self, count: usize) -> Vec<Item> {
        let mut items = Vec::new();
        while items.len() < count {
            match self.connection.next() {
                Some(ServerMessage::View(view)) => items.extend(view.items),
                Some(_) => {}
                None => panic!("the connection ended before {count} things were shown"),
            }
        }
        items
    }

    /// One step, as soon as it may be made.
    pub(crate) fn step(&mut self, step: Step) {
        loop {
            let request = ClientMessage::Move(Move { seq: self.seq, step: step.into() });
            self.seq += 1;
            match self.request(&request) {
                ServerMessage::Moved(moved) => return self.trail.push((moved.x, moved.y)),
                ServerMessage::Refused(refused) if refused.code == "too_fast" => {
                    // The rate that the world requires.
                    std::thread::sleep(Duration::from_millis(self.registered.move_min_ms.into()));
                }
                other => panic!("no step: {other:?}"),
            }
        }
    }

    /// Walks to a cell of a world without trees.
    pub(crate) fn walk(&mut self, to: (u32, u32)) {
        while self.cell() != to {
            let (x, y) = self.cell();
            let way = (to.0.cmp(&x) as i8, to.1.cmp(&y) as i8);
            self.step(match way {
                (0, -1) => Step::N,
                (1, -1) => Step::Ne,
                (1, 0) => Step::E,
                (1, 1) => Step::Se,
                (0, 1) => Step::S,
                (-1, 1) => Step::Sw,
                (-1, 0) => Step::W,
                _ => Step::Nw,
            });
        }
    }

    /// The next input, which takes what lies here.
    pub(crate) fn taking(&mut self, kind: i32) -> ClientMessage {
        let seq = self.seq;
        self.seq += 1;
        if kind == i32::from(ItemKind::Chest) {
            ClientMessage::Dig(Dig { seq })
        } else {
            ClientMessage::Grab(Grab { seq })
        }
    }

    /// Takes the item here, which must be free.
    #[track_caller]
    pub(crate) fn take(&mut self, kind: i32) -> TakenItem {
        let request = self.taking(kind);
        let answer = self.request(&request);
        assert!(matches!(answer, ServerMessage::Dug(_) | ServerMessage::Grabbed(_)), "{answer:?}");
        TakenItem { cell: self.cell(), request, answer }
    }

    /// Everything that comes until nothing more does.
    pub(crate) fn receive_all(&mut self) -> Vec<ServerMessage> {
        std::iter::from_fn(|| self.connection.next()).collect()
    }

    /// Passes over what has come already.
    pub(crate) fn drain(&mut self) {
        self.connection.take_what_came();
        while self.connection.kept().is_some() {}
    }

    /// Goes for good; returns when it has gone.
    pub(crate) fn leave(mut self) {
        self.send(&ClientMessage::Leave(Leave {}));
        self.receive_all();
    }
}

pub(crate) fn hello() -> ClientMessage {
    ClientMessage::Hello(Hello { version: VERSION, capabilities: Vec::new() })
}

impl FrameConnection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream, unread: Vec::new() }
    }

    /// Sends these in one piece. Success is seen by what comes back only.
    pub(crate) fn send(&mut self, request: &[ClientMessage]) {
        let frame = |what: &ClientMessage| ClientFrame { what: Some(what.clone()) }.encode_length_delimited_to_vec();
        let bytes: Vec<u8> = request.iter().flat_map(frame).collect();
        let _ = self.stream.write_all(&bytes);
    }

    /// The next frame; `None` at the end of the connection, however it ends.
    pub(crate) fn next(&mut self) -> Option<ServerMessage> {
        loop {
            if let Some(message) = self.kept() {
                return Some(message);
            }
            let mut bytes = [0; 4_096];
            match self.stream.read(&mut bytes) {
                Ok(read) if read > 0 => self.unread.extend_from_slice(&bytes[..read]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    panic!("nothing came for a long while")
                }
                Ok(_) | Err(_) => return None,
            }
        }
    }

    /// Reads what has come and goes no further.
    fn take_what_came(&mut self) {
        self.stream.set_nonblocking(true).unwrap();
        let end = self.stream.read_to_end(&mut self.unread);
        assert!(end.is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "the connection has ended");
        self.stream.set_nonblocking(false).unwrap();
    }

    /// A frame that is there.
    fn kept(&mut self) -> Option<ServerMessage> {
        let place = delimited::first_frame(&self.unread, usize::MAX).unwrap()?;
        let end = place.end;
        let frame = ServerFrame::decode(&self.unread[place]).unwrap();
        self.unread.drain(..end);
        frame.what
    }
}
