//! The prepared reply, many times over: an endless stream of it, of which each client gets some bytes. Does not know
//! clients.

/// Bytes that are handed to the kernel at once, if a client is to get so many.
const RUN_BYTES: usize = 64 * 1024;

/// The stream of replies.
#[derive(Debug)]
pub(crate) struct Replies {
    chunk: Vec<u8>,
    length: usize,
}

impl Replies {
    /// Replies with a body of so many bytes.
    pub(crate) fn new(body_bytes: usize) -> Self {
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {body_bytes}\r\n\r\n").into_bytes();
        let reply = [head, vec![b'x'; body_bytes]].concat();
        let copies = (RUN_BYTES / reply.len()).max(1);
        Self { length: reply.len(), chunk: reply.repeat(copies) }
    }

    /// Bytes of `count` replies.
    pub(crate) fn bytes(&self, count: u64) -> u64 {
        count * self.length as u64
    }

    /// What is sent next to a client that is to get so many bytes; as the stream repeats, nothing else is needed to
    /// know its position.
    pub(crate) fn next_chunk(&self, owed_bytes: u64) -> &[u8] {
        let length = self.length as u64;
        let start = ((length - owed_bytes % length) % length) as usize;
        let left = usize::try_from(owed_bytes).unwrap_or(usize::MAX);
        &self.chunk[start..self.chunk.len().min(start.saturating_add(left))]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_reply_is_http() {
        let replies = Replies::new(3);
        let text = String::from_utf8(replies.next_chunk(replies.bytes(1)).to_vec()).unwrap();
        assert_eq!(text, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nxxx");
    }

    proptest! {
        #[test]
        fn however_much_is_taken_at_a_time_the_stream_is_whole(
            body_bytes in prop::sample::select(vec![0usize, 2, 700, 70_000]),
            count in 1u64..40,
            takes in prop::collection::vec(1usize..100_000, 1..20),
        ) {
            let replies = Replies::new(body_bytes);
            let (mut owed, mut sent, mut takes) = (replies.bytes(count), Vec::new(), takes.into_iter().cycle());
            while owed > 0 {
                let next = replies.next_chunk(owed);
                let taken = next.len().min(takes.next().unwrap());
                sent.extend_from_slice(&next[..taken]);
                owed -= taken as u64;
            }
            prop_assert_eq!(sent, replies.chunk[..replies.length].repeat(count as usize));
        }
    }
}
