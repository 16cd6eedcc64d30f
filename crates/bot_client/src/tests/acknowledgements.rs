//! When the kernel acknowledges a bot's answer.

use super::*;
use crate::connection::{BotConnection, ConnectTimes};
use crate::exchange::{Request, send_and_receive};
use crate::response::ResponseParser;
use crate::target::Target;

/// Exchanges after which the kernel delays acknowledgements: it takes the connection for one of requests and answers.
const EXCHANGES_MAX: usize = 100;

/// A bot that writes head and body one by one, with Nagle's algorithm, would wait for the acknowledgement of its head.
#[tokio::test]
async fn the_first_part_of_an_answer_is_acknowledged_at_once() {
    let mut peer = Peer::new().await;
    let target = Target::parse(&format!("http://{}", peer.address)).unwrap();
    let (metrics, mut times) = (Arc::default(), ConnectTimes::default());
    let open = BotConnection::open(&target, peer.address, None, &metrics, &mut times);
    let Ok(mut connection) = open.await else { panic!("no connection") };
    assert!(connection.leads_to_this_machine());
    let mut stream = peer.connection().await;
    stream.set_nodelay(true).unwrap();
    let request = Request::post(&target, "move", b"{}", None, None);
    for _ in 0..EXCHANGES_MAX {
        exchange(&mut connection, &request, &mut stream, &[&http("{}")]).await;
        if !connection.is_acknowledging_now() {
            break;
        }
    }
    assert!(!connection.is_acknowledging_now(), "the kernel never delays");
    let whole = http("{}");
    let (head, body) = whole.split_at(whole.len() - 2);
    exchange(&mut connection, &request, &mut stream, &[head, body]).await;
    assert!(connection.is_acknowledging_now());
}

/// One exchange whose answer comes in these parts, each after the client has read the one before.
async fn exchange(connection: &mut BotConnection, request: &Request, stream: &mut TcpStream, parts: &[&str]) {
    let (arrived, mut arrivals) = mpsc::unbounded_channel();
    let mut incoming = ResponseParser::default();
    let on_arrival = || arrived.send(()).unwrap();
    let receive = send_and_receive(connection, request, &mut incoming, on_arrival);
    let answer = async {
        read_request(stream).await;
        for part in parts {
            stream.write_all(part.as_bytes()).await.unwrap();
            arrivals.recv().await.unwrap();
        }
    };
    let (received, ()) = tokio::join!(receive, answer);
    assert!(received.is_ok());
}
