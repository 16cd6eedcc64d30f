//! A pool over sockets of this machine, without journeys.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use super::endpoint::EndpointProtocol;
use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn pool(addresses: &[SocketAddr]) -> ConnectionPool {
    ConnectionPool::new(vec![Endpoint::new(addresses, None, EndpointProtocol::Http1)], Vec::new(), 0).unwrap()
}

fn pool_without_addresses() -> ConnectionPool {
    pool(&[])
}

fn user() -> JourneyKey {
    SlotMap::with_key().insert(())
}

/// What happens to connections next.
fn next(pool: &mut ConnectionPool) -> (ConnectionKey, Progress) {
    let mut events = 0;
    while events == 0 {
        events = pool.poller.wait(Some(SECOND)).unwrap();
    }
    let ready = pool.poller.event(0).unwrap();
    (ready.key, pool.on_ready(ready).unwrap())
}

/// An open connection and the server's end of it.
fn open(pool: &mut ConnectionPool, listener: &TcpListener) -> (ConnectionKey, TcpStream) {
    let key = pool.open(0, user()).unwrap();
    while next(pool) != (key, Progress::Opened) {}
    (key, listener.accept().unwrap().0)
}

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

#[test]
fn a_connection_is_opened_used_kept_and_closed() {
    let (listener, address) = listener();
    let mut pool = pool(&[address]);
    let (key, mut server) = open(&mut pool, &listener);
    assert_eq!((pool.len(), pool.traffic.connects, pool.get(key).unwrap().user), (1, 1, Some(user())));
    assert_eq!(pool.send(key, b"request"), Ok(false));
    assert!(pool.get(key).unwrap().has_sent_all());
    let mut bytes = [0; 99];
    assert_eq!(server.read(&mut bytes).unwrap(), 7);
    server.write_all(b"response").unwrap();
    assert_eq!(next(&mut pool), (key, Progress::Ready { flushed: false, readable: true }));
    assert_eq!(pool.read(key, &mut bytes), Ok((Received::Bytes(8), false)));
    assert_eq!(pool.read(key, &mut bytes), Ok((Received::Nothing, false)));
    assert_eq!((pool.traffic.sent_bytes, pool.traffic.received_bytes), (7, 8));
    pool.put_idle(key);
    assert_eq!((pool.get(key).unwrap().user, pool.take_idle(), pool.take_idle()), (None, Some(key), None));
    assert!(pool.remove(key).is_some() && pool.remove(key).is_none());
    assert_eq!((server.read(&mut bytes).unwrap(), pool.len()), (0, 0));
}

#[test]
fn idle_connections_are_reused_last_first_and_leave_when_they_are_closed() {
    let (listener, address) = listener();
    let mut pool = pool(&[address]);
    let opened = [0; 4].map(|_| open(&mut pool, &listener));
    opened.iter().for_each(|(key, _)| pool.put_idle(*key));
    pool.remove(opened[1].0);
    assert_eq!(pool.take_idle(), Some(opened[2].0));
    pool.remove(opened[3].0);
    assert_eq!((pool.take_idle(), pool.take_idle()), (Some(opened[0].0), None));
}

#[test]
fn an_address_that_refuses_is_followed_by_the_next_one() {
    let (refusing, (listener, address)) = (listener().1, listener());
    let mut pool = pool(&[refusing, address]);
    let (first, _server) = open(&mut pool, &listener);
    assert_eq!(pool.get(first).unwrap().address_index, 1);
    // The next connection starts where the first one was accepted.
    let second = pool.open(0, user()).unwrap();
    assert_eq!((next(&mut pool), pool.get(second).unwrap().address_index), ((second, Progress::Opened), 1));
}

#[test]
fn a_target_that_refuses_everywhere_is_a_failure() {
    let (one, two) = (listener().1, listener().1);
    let mut pool = pool(&[one, two]);
    let key = pool.open(0, user()).unwrap();
    let failure = std::iter::repeat_with(|| {
        let events = pool.poller.wait(Some(SECOND)).unwrap();
        (0..events).find_map(|at| pool.poller.event(at)).and_then(|ready| pool.on_ready(ready).err())
    });
    let failure = failure.flatten().next().unwrap();
    assert_eq!(
        (failure.kind, failure.message.starts_with(&two.to_string())),
        (ErrorKind::Connect, true),
        "{failure:?}"
    );
    assert!(pool.remove(key).is_some());
    assert_eq!(pool_without_addresses().open(0, user()).map_err(|failure| failure.kind), Err(ErrorKind::Connect));
}

#[test]
fn what_the_kernel_has_no_room_for_is_sent_later() {
    let (listener, address) = listener();
    let mut pool = pool(&[address]);
    let (key, mut server) = open(&mut pool, &listener);
    let sent = vec![7; 16 << 20];
    assert_eq!((pool.send(key, &sent), pool.send(key, b"!")), (Ok(false), Ok(false)));
    assert!(!pool.get(key).unwrap().has_sent_all() && !pool.get(key).unwrap().is_flushed());
    let reader = std::thread::spawn(move || {
        let mut received = vec![0; (16 << 20) + 1];
        server.read_exact(&mut received).map(|()| received)
    });
    while next(&mut pool) != (key, Progress::Ready { flushed: true, readable: false }) {}
    let received = reader.join().unwrap().unwrap();
    assert!(received[..sent.len()] == sent && received[sent.len()..] == *b"!");
    assert!(pool.get(key).unwrap().has_sent_all());
    assert_eq!(pool.traffic.sent_bytes, received.len() as u64);
}

#[test]
fn a_lingering_connection_is_closed_by_the_peer_or_when_its_time_is_over() {
    let (listener, address) = listener();
    let mut pool = pool(&[address]);
    let ((first, server), (second, _server)) = (open(&mut pool, &listener), open(&mut pool, &listener));
    pool.linger(first, SECOND);
    pool.linger(second, 2 * SECOND);
    drop(server);
    assert_eq!((next(&mut pool), pool.len()), ((first, Progress::Nothing), 1));
    pool.close_lingering(SECOND);
    assert_eq!((pool.len(), pool.next_due()), (1, Some(2 * SECOND)));
    pool.close_lingering(2 * SECOND);
    assert_eq!((pool.len(), pool.next_due()), (0, None));
}
