//! Signed calls, as the bot receives them.

use super::*;
use crate::signing::{SIGNATURE_HEADER, SecretDeriver};
use engine::ids::BotId;
use engine::rows::SigningState;
use engine::time::UnixMs;

fn signer() -> CallSigner {
    let state = SigningState { generation: 1, previous_until: UnixMs(0) };
    let at = UnixMs(1_700_000_000_000);
    CallSigner { keys: Arc::new(SecretDeriver::new(&[7; 32]).keys(BotId(5), state, at)), at }
}

fn signature_of(request: &str) -> Option<&str> {
    request.lines().find_map(|line| line.strip_prefix(SIGNATURE_HEADER)).map(|value| value.trim_start_matches(": "))
}

#[tokio::test]
async fn a_signed_call_carries_a_signature_of_what_is_sent_and_others_carry_none() {
    let mut peer = Peer::new().await;
    let bots = client(1, true);
    let (seen, mut requests) = mpsc::unbounded_channel();
    let signed = BotCall { signer: Some(signer()), ..call(peer.address, Webhook::Move) };
    let unsigned = call(peer.address, Webhook::Move);
    let calls = tokio::spawn(async move {
        bots.call(signed).await;
        bots.call(unsigned).await;
    });
    serve(peer.connection().await, http(r#"{"move":"up"}"#), seen);
    let (first, second) = (requests.recv().await.unwrap(), requests.recv().await.unwrap());
    calls.await.unwrap();
    let want = signer().keys.header_value(signer().at, "/bot/move", b"{}");
    assert_eq!(signature_of(&first), Some(want.as_str()));
    assert_eq!(signature_of(&second), None);
}

#[tokio::test]
async fn the_request_for_the_face_is_signed_too() {
    let mut peer = Peer::new().await;
    let bots = client(1, true);
    let url = format!("http://{}", peer.address);
    let face = tokio::spawn(async move { bots.face(&url, Some(signer()), AccountId(1)).await });
    let mut stream = peer.connection().await;
    let request = read_request(&mut stream).await;
    assert_eq!(signature_of(&request), Some(signer().keys.header_value(signer().at, "/", b"").as_str()));
    stream.write_all(http("{}").as_bytes()).await.unwrap();
    face.await.unwrap();
}
