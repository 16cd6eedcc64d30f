//! What is refused around the hunt, in the API's words: one stable code each, and what could be done instead.

use axum::http::StatusCode;
use engine::limits::WORLDS_PER_PLAYER_MAX;
use engine::matchmaking::TicketRefusal;
use hunts::TicketError;

/// Why something about a hunt does not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HuntRefusal {
    /// It is over, or those who are in it were matched.
    #[error("this hunt cannot be joined: it is over, everyone may enter it anyway, or its players were matched")]
    NotOpen,
    /// It has as many players as it may have.
    #[error("this hunt is full: choose another one, or wait until a player leaves")]
    Full,
    /// The caller is not in it.
    #[error("you have not joined this hunt")]
    NotJoined,
    /// A name that addresses already use for something else.
    #[error("this name cannot be a hunt's: choose another one")]
    Reserved,
    /// The process that took the ticket is gone.
    #[error("the server that took this ticket has ended, and the ticket with it: create another one")]
    TicketLost,
    /// Another process took the ticket, and owns the matchmaking queue.
    #[error("another server owns the matchmaking queue with this ticket, and did not respond: try again in a moment")]
    TicketElsewhere {
        /// Where.
        address: String,
    },
    /// The caller has not made it.
    #[error("only the creator of this hunt or an operator may end it: leave it instead")]
    NotCreator,
    /// The server has it by itself.
    #[error("this world is built in: it cannot be ended")]
    BuiltIn,
    /// The caller has as many as one may have.
    #[error(
        "you have made as many hunts that are not over as one may have ({WORLDS_PER_PLAYER_MAX}): end one with DELETE /api/hunts/{{name}}, or wait until one is over"
    )]
    TooManyOfCreator,
    /// A ticket was given up whose hunt is being saved, which takes long.
    #[error("the hunt of this ticket is still being saved; the ticket ends with that, matched or cancelled: ask again")]
    TicketSettling,
    /// A ticket was not taken.
    #[error(transparent)]
    Ticket(#[from] TicketError),
}

impl HuntRefusal {
    /// The status and the stable code.
    pub(crate) fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::NotOpen => (StatusCode::CONFLICT, "hunt_not_open"),
            Self::Full => (StatusCode::CONFLICT, "hunt_full"),
            Self::NotJoined => (StatusCode::CONFLICT, "not_joined"),
            Self::TicketLost => (StatusCode::GONE, "ticket_lost"),
            Self::TicketSettling => (StatusCode::SERVICE_UNAVAILABLE, "ticket_settling"),
            Self::TicketElsewhere { .. }
            | Self::Ticket(TicketError::NotOwner | TicketError::JustMatched | TicketError::Elsewhere { .. }) => {
                (StatusCode::SERVICE_UNAVAILABLE, "tickets_elsewhere")
            }
            Self::Ticket(TicketError::NoSuchTicket) => (StatusCode::NOT_FOUND, "no_such_ticket"),
            Self::Ticket(TicketError::InHunt(_)) => (StatusCode::CONFLICT, "in_hunt"),
            Self::Ticket(TicketError::Refused(TicketRefusal::PartyFull)) => (StatusCode::CONFLICT, "party_full"),
            Self::Ticket(TicketError::Refused(TicketRefusal::NotWaiting)) => {
                (StatusCode::CONFLICT, "ticket_not_waiting")
            }
            Self::Ticket(TicketError::Quota(_)) => (StatusCode::TOO_MANY_REQUESTS, "address_quota"),
            Self::NotCreator => (StatusCode::FORBIDDEN, "not_maker"),
            Self::BuiltIn => (StatusCode::CONFLICT, "built_in"),
            Self::TooManyOfCreator => (StatusCode::CONFLICT, "too_many"),
            Self::Ticket(TicketError::Draining) => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
            Self::Ticket(TicketError::Refused(TicketRefusal::AlreadyWaiting(_))) => {
                (StatusCode::CONFLICT, "already_waiting")
            }
            Self::Ticket(TicketError::Refused(TicketRefusal::QueueFull)) => {
                (StatusCode::SERVICE_UNAVAILABLE, "too_many_waiting")
            }
            Self::Reserved
            | Self::Ticket(TicketError::Refused(
                TicketRefusal::InvalidParty | TicketRefusal::InvalidPlayers | TicketRefusal::InvalidRating,
            )) => (StatusCode::BAD_REQUEST, "bad_value"),
        }
    }

    /// The member of the request that is at fault.
    pub(crate) fn field(&self) -> Option<&'static str> {
        match self {
            Self::Reserved => Some("/name"),
            Self::Ticket(TicketError::Refused(TicketRefusal::InvalidParty)) => Some("/party_size"),
            Self::Ticket(TicketError::Refused(TicketRefusal::InvalidPlayers)) => Some("/players"),
            Self::Ticket(TicketError::Refused(TicketRefusal::InvalidRating)) => Some("/rating"),
            Self::NotOpen
            | Self::Full
            | Self::NotJoined
            | Self::TicketLost
            | Self::TicketSettling
            | Self::NotCreator
            | Self::BuiltIn
            | Self::TooManyOfCreator
            | Self::TicketElsewhere { .. }
            | Self::Ticket(_) => None,
        }
    }

    /// The node that can say more.
    pub(crate) fn into_node_address(self) -> Option<String> {
        match self {
            Self::TicketElsewhere { address } | Self::Ticket(TicketError::Elsewhere { address }) => Some(address),
            _ => None,
        }
    }
}
