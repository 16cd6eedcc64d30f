//! Signatures of calls, so that a bot can tell this server's calls from a stranger's, and a fresh one from a replay.
//!
//! `Gauntlet-Signature: t=<unix seconds>,v1=<hex>`: HMAC-SHA256 with the bot's secret over `<t>.<path>.<body>`, the path as in the request
//! line. While a secret has just been replaced there is a second `v1`, made with the one before.
//!
//! No bot's secret is stored. It is derived from one secret of the whole database, the bot's id and a generation that each rotation
//! raises; so no row, command or log line can show it.

use engine::ids::BotId;
use engine::rows::SigningState;
use engine::time::UnixMs;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt::{self, Write};
use std::sync::Arc;

/// The name of the header.
pub const SIGNATURE_HEADER: &str = "gauntlet-signature";
/// Every secret begins with this, so that scanners of leaked secrets find it.
const SECRET_PREFIX: &str = "bsec_";

/// Derives the secrets of all bots.
#[derive(Clone)]
pub struct SecretDeriver(Hmac<Sha256>);

/// The secret of one bot. Its text is the key.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret(String);

/// The secrets with which the calls of one bot are signed now: the current one, then the one before while it is still used.
#[derive(Clone)]
pub struct SigningKeys(Vec<Hmac<Sha256>>);

/// Keys and the time of a call.
#[derive(Clone, Debug)]
pub struct CallSigner {
    pub keys: Arc<SigningKeys>,
    pub at: UnixMs,
}

impl SecretDeriver {
    /// From the secret of the whole database.
    #[must_use]
    pub fn new(database_secret: &[u8]) -> Self {
        Self(keyed(database_secret))
    }

    /// A bot's secret of this generation.
    #[must_use]
    pub fn secret(&self, bot: BotId, generation: u32) -> SigningSecret {
        let mut mac = self.0.clone();
        mac.update(b"calls of bots\0");
        mac.update(&bot.to_bytes());
        mac.update(&generation.to_be_bytes());
        SigningSecret(format!("{SECRET_PREFIX}{}", hex(&mac.finalize().into_bytes())))
    }

    /// The keys of a bot whose calls are signed, at this time.
    #[must_use]
    pub fn keys(&self, bot: BotId, state: SigningState, now: UnixMs) -> SigningKeys {
        let previous = (now < state.previous_until).then(|| state.generation.saturating_sub(1));
        let generations = [Some(state.generation), previous];
        SigningKeys(
            generations.into_iter().flatten().map(|number| keyed(self.secret(bot, number).0.as_bytes())).collect(),
        )
    }
}

impl SigningSecret {
    /// For the one response that shows it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl SigningKeys {
    /// The header's value.
    #[must_use]
    pub fn header_value(&self, at: UnixMs, path: &str, body: &[u8]) -> String {
        let seconds = at.0.div_euclid(1_000);
        let mut value = format!("t={seconds}");
        for key in &self.0 {
            let mut mac = key.clone();
            mac.update(format!("{seconds}.{path}.").as_bytes());
            mac.update(body);
            let _ = write!(value, ",v1={}", hex(&mac.finalize().into_bytes()));
        }
        value
    }
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of every length")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

macro_rules! masked {
    ($($name:ident),+) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(***)"))
            }
        }
    )+};
}
masked!(SecretDeriver, SigningSecret, SigningKeys);

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMs = UnixMs(1_700_000_000_999);

    fn deriver() -> SecretDeriver {
        SecretDeriver::new(&[7; 32])
    }

    fn value(state: SigningState, path: &str, body: &[u8]) -> String {
        deriver().keys(BotId(5), state, NOW).header_value(NOW, path, body)
    }

    fn state(generation: u32, previous_until: UnixMs) -> SigningState {
        SigningState { generation, previous_until }
    }

    /// Computed with Python's hmac: the documented scheme does not change.
    #[test]
    fn golden_signature() {
        let secret = deriver().secret(BotId(5), 1);
        assert_eq!(secret.expose(), GOLDEN_SECRET);
        assert_eq!(value(state(1, UnixMs(0)), "/snake/move", b"{\"turn\":1}"), format!("t=1700000000,v1={GOLDEN_HEX}"));
    }

    #[test]
    fn every_part_is_covered() {
        let base = value(state(1, UnixMs(0)), "/move", b"{}");
        assert_ne!(base, value(state(2, UnixMs(0)), "/move", b"{}"));
        assert_ne!(base, value(state(1, UnixMs(0)), "/start", b"{}"));
        assert_ne!(base, value(state(1, UnixMs(0)), "/move", b"{ }"));
        let other_bot = deriver().keys(BotId(6), state(1, UnixMs(0)), NOW).header_value(NOW, "/move", b"{}");
        assert_ne!(base, other_bot);
        let later = deriver().keys(BotId(5), state(1, UnixMs(0)), NOW).header_value(UnixMs(NOW.0 + 1), "/move", b"{}");
        assert_ne!(base, later);
    }

    #[test]
    fn the_secret_before_is_used_for_a_while() {
        let old = value(state(1, UnixMs(0)), "/move", b"{}");
        let both = value(state(2, UnixMs(NOW.0 + 1)), "/move", b"{}");
        let alone = value(state(2, NOW), "/move", b"{}");
        assert_eq!(both, format!("{alone}{}", old.trim_start_matches("t=1700000000")));
    }

    #[test]
    fn nothing_prints_a_secret() {
        let secret = deriver().secret(BotId(5), 1);
        let keys = deriver().keys(BotId(5), state(1, UnixMs(0)), NOW);
        let signer = CallSigner { keys: Arc::new(keys), at: UnixMs(1) };
        let printed = format!("{secret:?} {signer:?} {:?}", deriver());
        assert_eq!(
            printed,
            "SigningSecret(***) CallSigner { keys: SigningKeys(***), at: UnixMs(1) } SecretDeriver(***)"
        );
    }

    const GOLDEN_SECRET: &str = "bsec_076899c7eb288b8a9bbc6f26184cf1561fbaaf855f08f445cf950e994bcb0ffa";
    const GOLDEN_HEX: &str = "7b250c8434bdc4843f57de8435f7626ed3ebcebf7a3c7728da9bbb8896eba56f";
}
