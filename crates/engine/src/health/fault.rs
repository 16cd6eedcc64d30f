//! What was wrong with an answer of a bot, finer than its class in a match's log: for the bot's owner, who must find the mistake.

use crate::matches::entry::AnswerClass;
use crate::matches::response_excerpt::ResponseExcerpt;
use crate::pack::{DecodeError, packed_as};

/// What was wrong with one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallFault {
    /// The host of the URL leads to no address that may be called. One fault for all reasons: a stranger must not learn from it which
    /// names and addresses exist inside the server's network.
    NoPublicAddress,
    /// The connection was refused.
    ConnectionRefused,
    /// The connection failed in another way, or not before the deadline.
    NotConnected,
    /// The TLS handshake failed.
    TlsFailed,
    /// The connection ended before the answer did.
    Closed,
    /// The answer was not HTTP/1.1.
    NotHttp,
    /// The answer was over the size limit.
    TooLarge,
    /// A redirect, which is not followed.
    Redirect,
    /// Not found, or a method that is not allowed: the path is probably wrong.
    NoSuchRoute,
    /// A status of the 5xx kind: the bot's own failure.
    BotError,
    /// Another status than 200.
    BadStatus,
    /// A web page where JSON was expected.
    Html,
    /// The body was not JSON, or not an object.
    NotJson,
    /// A JSON object without a text `move`.
    NoMove,
    /// A `move` that is none of the four.
    UnknownMove,
    /// A `GET /` answer without `apiversion` "1".
    NoApiVersion,
    /// No whole answer before the deadline.
    TooLate,
    /// A whole match in which the bot gave no valid move.
    SilentInMatch,
    /// This server could not make the call.
    ServerFault,
    /// The call was not made: too many calls to this host have gone without a valid move.
    Throttled,
}

impl CallFault {
    /// Every fault, in the order of its code: codes are never reused.
    pub const ALL: [Self; 20] = [
        Self::NoPublicAddress,
        Self::ConnectionRefused,
        Self::NotConnected,
        Self::TlsFailed,
        Self::Closed,
        Self::NotHttp,
        Self::TooLarge,
        Self::Redirect,
        Self::NoSuchRoute,
        Self::BotError,
        Self::BadStatus,
        Self::Html,
        Self::NotJson,
        Self::NoMove,
        Self::UnknownMove,
        Self::NoApiVersion,
        Self::TooLate,
        Self::SilentInMatch,
        Self::ServerFault,
        Self::Throttled,
    ];

    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoPublicAddress => "no_public_address",
            Self::ConnectionRefused => "connection_refused",
            Self::NotConnected => "not_connected",
            Self::TlsFailed => "tls_failed",
            Self::Closed => "closed",
            Self::NotHttp => "not_http",
            Self::TooLarge => "too_large",
            Self::Redirect => "redirect",
            Self::NoSuchRoute => "no_such_route",
            Self::BotError => "bot_error",
            Self::BadStatus => "bad_status",
            Self::Html => "html",
            Self::NotJson => "not_json",
            Self::NoMove => "no_move",
            Self::UnknownMove => "unknown_move",
            Self::NoApiVersion => "no_api_version",
            Self::TooLate => "too_late",
            Self::SilentInMatch => "silent_in_match",
            Self::ServerFault => "server_fault",
            Self::Throttled => "throttled",
        }
    }

    /// The class that such an answer has in a match.
    #[must_use]
    pub fn class(self) -> AnswerClass {
        match self {
            Self::NoPublicAddress => AnswerClass::Forbidden,
            Self::ConnectionRefused | Self::NotConnected | Self::TlsFailed | Self::Closed => AnswerClass::Unreachable,
            Self::NotHttp | Self::Html | Self::NotJson | Self::NoMove | Self::NoApiVersion => AnswerClass::Malformed,
            Self::TooLarge => AnswerClass::Oversized,
            Self::Redirect | Self::NoSuchRoute | Self::BotError | Self::BadStatus => AnswerClass::BadStatus,
            Self::UnknownMove => AnswerClass::UnknownMove,
            Self::TooLate | Self::SilentInMatch => AnswerClass::Late,
            Self::ServerFault => AnswerClass::ServerFault,
            Self::Throttled => AnswerClass::Throttled,
        }
    }

    /// The fault that most probably stands behind a class of answer in a match, of which the log keeps no more than the answer's beginning;
    /// `None` where nothing was wrong.
    #[must_use]
    pub fn probable(class: AnswerClass, response: Option<&ResponseExcerpt>) -> Option<Self> {
        let is_page = response.is_some_and(|response| response.text().trim_start().starts_with('<'));
        Some(match class {
            AnswerClass::Valid => return None,
            AnswerClass::Late => Self::TooLate,
            AnswerClass::Unreachable => Self::NotConnected,
            AnswerClass::BadStatus => match response.map(ResponseExcerpt::status) {
                Some(300..400) => Self::Redirect,
                Some(404 | 405) => Self::NoSuchRoute,
                Some(500..) => Self::BotError,
                Some(_) | None => Self::BadStatus,
            },
            AnswerClass::Oversized => Self::TooLarge,
            AnswerClass::Malformed if is_page => Self::Html,
            AnswerClass::Malformed => Self::NotJson,
            AnswerClass::UnknownMove => Self::UnknownMove,
            AnswerClass::Forbidden => Self::NoPublicAddress,
            AnswerClass::ServerFault => Self::ServerFault,
            AnswerClass::Throttled => Self::Throttled,
        })
    }

    /// What was wrong.
    #[must_use]
    pub fn problem(self) -> &'static str {
        match self {
            Self::NoPublicAddress => "the host of the URL leads to no address that this server may call",
            Self::ConnectionRefused => "the connection was refused",
            Self::NotConnected => "no connection could be made",
            Self::TlsFailed => "the TLS handshake failed",
            Self::Closed => "the connection was closed before the answer was complete",
            Self::NotHttp => "the answer was not HTTP/1.1",
            Self::TooLarge => "the answer was larger than a bot's answer may be",
            Self::Redirect => "the answer was a redirect, and redirects are not followed",
            Self::NoSuchRoute => "the answer says that this path or method does not exist",
            Self::BotError => "the answer was an error of the bot (status 5xx)",
            Self::BadStatus => "the status of the answer was not 200",
            Self::Html => "the answer was a web page (HTML), not JSON",
            Self::NotJson => "the body of the answer was not a JSON object",
            Self::NoMove => "the answer had no text \"move\"",
            Self::UnknownMove => "the move was none of \"up\", \"down\", \"left\" and \"right\"",
            Self::NoApiVersion => "the answer to GET / had no \"apiversion\" of \"1\"",
            Self::TooLate => "no whole answer came before the deadline",
            Self::SilentInMatch => "the bot gave no valid move in a whole match",
            Self::ServerFault => "this server could not make the call; it says nothing about the bot",
            Self::Throttled => {
                "the call was not made: too many of your calls to this host, or of all calls to it, went without a valid move"
            }
        }
    }

    /// What its owner can do about it.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::NoPublicAddress => {
                "check the spelling of the host, and that its DNS name has an address of the public Internet"
            }
            Self::ConnectionRefused => {
                "start the bot, and check that it listens on the port of its URL on all interfaces"
            }
            Self::NotConnected => {
                "check that the host is up and that no firewall stops connections to the port of the URL"
            }
            Self::TlsFailed => {
                "check that the port speaks TLS and that the certificate is valid for the host of the URL"
            }
            Self::Closed => "check the bot's log for a crash, and that Content-Length is the length of the body",
            Self::NotHttp => "check that the port of the URL is that of an HTTP server, and http:// against https://",
            Self::TooLarge => "answer with the move alone: less than 64 KiB, usually less than 400 bytes",
            Self::Redirect => "register the URL that the redirect names: often https:// instead of http://",
            Self::NoSuchRoute => {
                "check the path of the URL: /start, /move and /end are appended to it and sent by POST"
            }
            Self::BotError => "check the bot's log: the request that it could not handle is shown with this answer",
            Self::BadStatus => "answer with status 200",
            Self::Html => {
                "check the URL: this is probably the page of a host, a tunnel or a proxy in front of the bot, not the bot"
            }
            Self::NotJson => "answer /move with a JSON object such as {\"move\": \"up\"}",
            Self::NoMove => {
                "answer /move with a JSON object such as {\"move\": \"up\"}: the word is a text named \"move\""
            }
            Self::UnknownMove => "answer \"up\", \"down\", \"left\" or \"right\", in lower case",
            Self::NoApiVersion => "answer GET / with a JSON object that has \"apiversion\": \"1\"",
            Self::TooLate => {
                "answer faster, count the network in, and keep connections open (keep-alive); a host that sleeps wakes too late"
            }
            Self::SilentInMatch => "see what a check of this snake says, and the log of its latest games",
            Self::ServerFault => "nothing: the check is repeated",
            Self::Throttled => {
                "let the bot answer /move; a call is made again every few seconds, and after one valid move there is no limit"
            }
        }
    }

    fn from_code(code: u8) -> Result<Self, DecodeError> {
        Self::ALL.get(usize::from(code)).copied().ok_or(DecodeError("an unknown fault of a call"))
    }

    /// The fault of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }
}
packed_as!(CallFault: u8, |fault| *fault as u8, Self::from_code);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_lead_back() {
        for (code, fault) in CallFault::ALL.into_iter().enumerate() {
            assert_eq!(fault as usize, code, "{fault:?}");
            assert_eq!(CallFault::from_code(code as u8), Ok(fault));
            assert_eq!(CallFault::from_name(fault.name()), Some(fault));
        }
        assert!(CallFault::from_code(CallFault::ALL.len() as u8).is_err());
    }
}
