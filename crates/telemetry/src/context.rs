//! The place of a span in a trace, as the header `traceparent` carries it (W3C Trace Context, level 1, section 3.2).

use std::fmt;

/// The header with the caller's span, in both directions: of requests to this server, and of its calls to bots.
pub const TRACEPARENT: &str = "traceparent";
/// The header of a response with the span of its request (W3C Trace Context, level 2, a draft).
pub const TRACE_RESPONSE: &str = "traceresponse";

/// Length of a header of version 00.
const HEADER_BYTES: usize = 55;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// Not zero.
    pub trace_id: u128,
    /// Not zero.
    pub span_id: u64,
    /// Whether the spans of this trace are recorded.
    pub is_sampled: bool,
}

impl TraceContext {
    /// What a header says; `None`: it is none, and the trace begins anew. Of later versions the fields of version 00 are read, as the
    /// recommendation says.
    #[must_use]
    pub fn parse(header: &[u8]) -> Option<Self> {
        let (fields, rest) = header.split_at_checked(HEADER_BYTES)?;
        let is_separated = fields[2] == b'-' && fields[35] == b'-' && fields[52] == b'-';
        let version = hexadecimal(&fields[..2]).filter(|version| is_separated && *version != 0xff)?;
        if !rest.is_empty() && (version == 0 || rest[0] != b'-') {
            return None;
        }
        let trace_id = hexadecimal(&fields[3..35]).filter(|id| *id != 0)?;
        let span_id = hexadecimal(&fields[36..52]).filter(|id| *id != 0)?;
        let flags = hexadecimal(&fields[53..])?;
        Some(Self { trace_id, span_id: span_id as u64, is_sampled: flags & 1 == 1 })
    }
}

/// Digits of lower case, which alone are valid.
fn hexadecimal(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u128::from(value))
    })
}

/// The value of the header.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, u8::from(self.is_sampled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[track_caller]
    fn check(header: &str, want: Option<bool>) {
        let context = TraceContext::parse(header.as_bytes());
        let ids = context.map(|context| (format!("{:032x}", context.trace_id), context.span_id));
        assert_eq!(context.map(|context| context.is_sampled), want, "{header}");
        assert!(ids.is_none_or(|ids| ids == (TRACE.to_owned(), 0x00f0_67aa_0ba9_02b7)), "{header}");
    }

    #[test]
    fn only_valid_headers_are_read() {
        check(&format!("00-{TRACE}-00f067aa0ba902b7-01"), Some(true));
        check(&format!("00-{TRACE}-00f067aa0ba902b7-00"), Some(false));
        // Other flags may be set.
        check(&format!("00-{TRACE}-00f067aa0ba902b7-03"), Some(true));
        check(&format!("00-{TRACE}-00f067aa0ba902b7-fe"), Some(false));
        // A later version may have more.
        check(&format!("cc-{TRACE}-00f067aa0ba902b7-01"), Some(true));
        check(&format!("cc-{TRACE}-00f067aa0ba902b7-01-what"), Some(true));
        check(&format!("cc-{TRACE}-00f067aa0ba902b7-01.what"), None);
        check(&format!("00-{TRACE}-00f067aa0ba902b7-01-what"), None);
        check(&format!("ff-{TRACE}-00f067aa0ba902b7-01"), None);
        check(&format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()), None);
        check(&format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)), None);
        check(&format!("00-{TRACE}-0000000000000000-01"), None);
        check(&format!("00-{TRACE}-00f067aa0ba902b7-0"), None);
        check(&format!("00_{TRACE}_00f067aa0ba902b7_01"), None);
        check(&format!("00-{TRACE}-00f067aa0ba902b7-é"), None);
        check("", None);
    }

    proptest! {
        /// Whatever comes, nothing breaks; and what is written is read again.
        #[test]
        fn what_is_written_is_read_again(bytes in prop::collection::vec(any::<u8>(), 0..80), trace_id in 1_u128.., span_id in 1_u64.., is_sampled: bool) {
            let _ = TraceContext::parse(&bytes);
            let context = TraceContext { trace_id, span_id, is_sampled };
            prop_assert_eq!(TraceContext::parse(context.to_string().as_bytes()), Some(context));
        }
    }
}
