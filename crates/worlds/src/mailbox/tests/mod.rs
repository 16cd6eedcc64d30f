//! The mailbox among threads; `interleavings` walks through its protocol.

mod interleavings;

use super::*;
use std::sync::Arc;
use std::thread::JoinHandle;

/// What one receive gives.
fn received(mailbox: &Mailbox<u32, &'static str>) -> (Vec<u32>, Vec<&'static str>) {
    let (mut items, mut control) = (Vec::new(), Vec::new());
    mailbox.recv_batch(&mut items, &mut control, Some(Instant::now()));
    (items, control)
}

#[test]
fn items_without_room_stay_with_the_sender() {
    let mailbox = Mailbox::new(3);
    let mut batch = vec![1, 2];
    assert_eq!((mailbox.send(&mut batch), batch.len()), (Ok(2), 0));
    batch.extend([3, 4, 5]);
    assert_eq!((mailbox.send(&mut batch), batch.as_slice()), (Err(TrySendError::Full), [4, 5].as_slice()));
    assert_eq!((mailbox.send(&mut batch), batch.as_slice()), (Err(TrySendError::Full), [4, 5].as_slice()));
    assert_eq!(mailbox.send_control("a control message is still taken"), Ok(()));
    assert_eq!(mailbox.try_send_control("one too many", 1), Err((TrySendError::Full, "one too many")));
    assert_eq!(received(&mailbox), (vec![1, 2, 3], vec!["a control message is still taken"]));
    assert_eq!((mailbox.send(&mut batch), received(&mailbox).0), (Ok(2), vec![4, 5]));
}

#[test]
fn a_closed_mailbox_refuses_items_and_gives_what_it_has() {
    let mailbox = Mailbox::new(3);
    assert_eq!(mailbox.send(&mut vec![1]), Ok(1));
    mailbox.close();
    let mut batch = vec![2];
    assert_eq!((mailbox.send(&mut batch), batch.len()), (Err(TrySendError::Closed), 1));
    assert_eq!(mailbox.send_control("late"), Err("late"));
    assert_eq!(mailbox.try_send_control("late", 9), Err((TrySendError::Closed, "late")));
    assert_eq!(received(&mailbox).0, [1]);
}

/// Starts a thread that receives once; it is parked when this returns. The thread's result is what it received.
fn start_consumer(mailbox: &Arc<Mailbox<u32, &'static str>>, until: Option<Instant>) -> JoinHandle<Vec<u32>> {
    let receiving = mailbox.clone();
    let start_consumer = std::thread::spawn(move || {
        let mut items = Vec::new();
        receiving.recv_batch(&mut items, &mut Vec::new(), until);
        items
    });
    until_so(|| mailbox.is_parked() || start_consumer.is_finished());
    start_consumer
}

fn until_so(is_so: impl Fn() -> bool) {
    while !is_so() {
        std::thread::yield_now();
    }
}

#[test]
fn a_sender_of_few_items_runs_inline_while_the_consumer_is_parked() {
    let mailbox = Arc::new(Mailbox::new(9));
    assert_eq!(mailbox.send_or_run_inline(&mut vec![1], 2), Ok(SendOutcome::Queued), "the consumer is running");
    assert_eq!(received(&mailbox).0, [1]);
    let consumer = start_consumer(&mailbox, None);
    assert_eq!(mailbox.send_or_run_inline(&mut vec![2, 3], 2), Ok(SendOutcome::RunInline));
    assert_eq!(
        mailbox.send_or_run_inline(&mut vec![4], 2),
        Ok(SendOutcome::Queued),
        "one sender runs inline at a time"
    );
    let (mut items, mut control) = (Vec::new(), Vec::new());
    mailbox.try_recv_batch(&mut items, &mut control);
    assert_eq!((items.as_slice(), control.len()), ([2, 3, 4].as_slice(), 0));
    mailbox.finish_inline(false);
    assert!(mailbox.is_parked(), "nothing is left to do");
    assert_eq!(
        mailbox.send_or_run_inline(&mut vec![5, 6, 7], 2),
        Ok(SendOutcome::Queued),
        "more than a few wake the consumer"
    );
    assert_eq!(consumer.join().unwrap(), [5, 6, 7]);
}

#[test]
fn the_consumer_is_woken_when_an_inline_run_leaves_work() {
    type Meanwhile = fn(&Mailbox<u32, &'static str>) -> bool;
    let cases: [Meanwhile; 4] = [
        |mailbox| mailbox.send(&mut vec![8]).is_err(),
        |mailbox| mailbox.send_control("look").is_err(),
        |mailbox| {
            mailbox.close();
            false
        },
        // The sender says so; the consumer's receive waits for a message, so one is sent afterwards.
        |_| true,
    ];
    for meanwhile in cases {
        let mailbox = Arc::new(Mailbox::new(9));
        let consumer = start_consumer(&mailbox, None);
        assert_eq!(mailbox.send_or_run_inline(&mut vec![1], 1), Ok(SendOutcome::RunInline));
        assert_eq!(received(&mailbox).0, [1]);
        let is_to_wake = meanwhile(&mailbox);
        mailbox.finish_inline(is_to_wake);
        if is_to_wake {
            until_so(|| mailbox.is_parked());
            assert_eq!(mailbox.send(&mut vec![8]), Ok(1));
        }
        consumer.join().unwrap();
    }
}

#[test]
fn a_consumer_that_times_out_waits_for_an_inline_run() {
    let (mailbox, consumer) = loop {
        let mailbox = Arc::new(Mailbox::new(9));
        let consumer = start_consumer(&mailbox, Some(Instant::now() + Duration::from_millis(50)));
        // Otherwise it timed out before this.
        if mailbox.send_or_run_inline(&mut vec![1], 1) == Ok(SendOutcome::RunInline) {
            break (mailbox, consumer);
        }
    };
    until_so(|| mailbox.lock().is_consumer_waiting());
    assert_eq!(received(&mailbox).0, [1]);
    mailbox.finish_inline(false);
    assert!(consumer.join().unwrap().is_empty(), "it timed out, and nothing was queued");
}

#[test]
fn a_parked_consumer_is_woken_by_items_control_and_close() {
    type Wake = fn(&Mailbox<u32, &'static str>);
    let cases: [Wake; 3] = [
        |mailbox| assert_eq!(mailbox.send(&mut vec![7]), Ok(1)),
        |mailbox| assert_eq!(mailbox.send_control("look"), Ok(())),
        |mailbox| mailbox.close(),
    ];
    for wake in cases {
        let mailbox = Arc::new(Mailbox::new(3));
        let consumer = start_consumer(&mailbox, None);
        wake(&mailbox);
        consumer.join().unwrap();
    }
}
