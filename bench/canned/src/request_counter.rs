//! Counts the requests in a stream of bytes by the empty line that ends each head. Does not know anything else of HTTP:
//! a request with a body is not for this server.

/// What ends the head of a request.
const END: &[u8; 4] = b"\r\n\r\n";

/// The place in one client's stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestCounter {
    /// Bytes of [`END`] that the stream so far ends with, if the head continues.
    matched: usize,
}

impl RequestCounter {
    /// How many heads end within `bytes`, which follow what was counted before.
    pub(crate) fn count(&mut self, bytes: &[u8]) -> u64 {
        let mut heads = 0;
        let mut at = 0;
        // An end that began in the bytes before is followed byte by byte; it is over after three.
        while self.matched > 0 && at < bytes.len() {
            self.matched = next(self.matched, bytes[at]);
            at += 1;
            if self.matched == END.len() {
                self.matched = 0;
                heads += 1;
            }
        }
        if self.matched == 0 {
            let (ended, rest) = search(&bytes[at..]);
            heads += ended;
            self.matched = begun(rest);
        }
        heads
    }
}

/// How much of the end is matched after `byte`, when `matched` bytes were before.
fn next(matched: usize, byte: u8) -> usize {
    match byte {
        byte if byte == END[matched] => matched + 1,
        b'\r' => 1,
        _ => 0,
    }
}

/// Ends in `bytes`, and what follows the last of them. Looks at every fourth byte, and closer only where that could be
/// part of an end (Boyer and Moore's idea: compare a pattern's last byte first).
fn search(bytes: &[u8]) -> (u64, &[u8]) {
    let (mut heads, mut start, mut last) = (0, 0, END.len() - 1);
    while last < bytes.len() {
        last += match bytes[last] {
            b'\n' if last >= start + END.len() - 1 && bytes[last - 3..=last] == *END => {
                heads += 1;
                start = last + 1;
                END.len()
            }
            b'\n' => 2,
            b'\r' => 1,
            _ => END.len(),
        };
    }
    (heads, &bytes[start..])
}

/// How much of an end the last bytes are the beginning of.
fn begun(bytes: &[u8]) -> usize {
    (1..END.len()).rev().find(|&length| bytes.ends_with(&END[..length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(pieces: &[&str], expected: &[u64]) {
        let mut heads = RequestCounter::default();
        let counts: Vec<u64> = pieces.iter().map(|piece| heads.count(piece.as_bytes())).collect();
        assert_eq!(counts, expected, "{pieces:?}");
    }

    #[test]
    fn heads_end_with_an_empty_line() {
        check(&["GET / HTTP/1.1\r\nHost: x\r\n\r\n"], &[1]);
        check(&["GET / HTTP/1.1\r\nHost: x\r\n"], &[0]);
        check(&["GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\nGET /"], &[2]);
        check(&["GET / HTTP/1.1\r\n\r", "\nGET / HTTP/1.1\r\n", "\r\n"], &[0, 1, 1]);
        check(&["GET / HTTP/1.1\r", "\n", "\r", "\n"], &[0, 0, 0, 1]);
        check(&["\r\n\r\r\n\r\n", "\r\n\r\n"], &[1, 1]);
        check(&["", "\r\n\r", "", "\n"], &[0, 0, 0, 1]);
        // The second end may not use bytes of the first.
        check(&["\r\n\r\n\r\n", "x"], &[1, 0]);
    }

    /// A slow and plain model of the same.
    fn plain(stream: &[u8]) -> u64 {
        let (mut heads, mut rest) = (0, stream);
        while let Some(at) = rest.windows(END.len()).position(|window| window == END) {
            heads += 1;
            rest = &rest[at + END.len()..];
        }
        heads
    }

    proptest! {
        #[test]
        fn pieces_do_not_change_the_count(
            pieces in prop::collection::vec(prop::collection::vec(prop::sample::select(b"\r\nx".to_vec()), 0..20), 0..8),
        ) {
            let mut heads = RequestCounter::default();
            let counted: u64 = pieces.iter().map(|piece| heads.count(piece)).sum();
            prop_assert_eq!(counted, plain(&pieces.concat()));
        }
    }
}
