//! Guests: people who play Stories without an account. A guest's token is the guest: it holds who they are, their name and until
//! when, under an HMAC-SHA-256 (RFC 2104) with a key that all nodes of one database share. Nothing is stored of a guest who
//! does nothing, so a flood of them fills no table.
//!
//! Knows tokens and their key. Does not know what a guest may do.

use crate::clock::random_bytes;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use engine::commands::{Command, Outcome};
use engine::ids::PlayerId;
use engine::limits::{GUEST_NAME_CHARS_MAX, GUEST_TOKEN_LIFETIME};
use engine::rows::TokenPurpose;
use engine::time::UnixMs;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;
use std::sync::Arc;
use store::{Store, StoreError};
use tokio::sync::OnceCell;

/// What guests' tokens begin with, so that scanners for leaked secrets find them.
pub(super) const TOKEN_PREFIX: &str = "gst_";
/// The name under which the store keeps the key.
const KEY_NAME: &str = "guests";
/// What the authentication code is made for: a key must never sign the same bytes in two meanings.
const SIGNING_CONTEXT: &[u8] = b"gauntlet guest token\0";
/// The layout of what follows: a token of another layout is not looked at.
const TOKEN_VERSION: u8 = 1;
/// Layout, purpose, id, end: the name fills the rest.
const HEADER_BYTES: usize = 1 + 1 + 16 + 8;
const MAC_BYTES: usize = 32;

const _: () = assert!(
    TOKEN_PREFIX.len() + (HEADER_BYTES + GUEST_NAME_CHARS_MAX * 4 + MAC_BYTES).div_ceil(3) * 4
        <= super::auth::SECRET_BYTES_MAX,
    "the longest name fits into a token that is looked at"
);

/// A guest, as their token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// Who they are wherever they sit.
    pub player: PlayerId,
    /// What they call themselves; other guests may do so too.
    pub name: String,
    /// What they came for: guests whom a load test made are told apart by the rate limiter.
    pub purpose: TokenPurpose,
    /// When the token ends.
    pub expires_at: UnixMs,
}

impl Guest {
    /// A new guest of this name.
    #[must_use]
    pub fn new(name: String, purpose: TokenPurpose, now: UnixMs) -> Self {
        Self { player: PlayerId::new(now, random_bytes()), name, purpose, expires_at: now.plus(GUEST_TOKEN_LIFETIME) }
    }
}

/// What a text is that may be a guest's token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestTokenCheck {
    /// A token of this guest.
    Valid(Guest),
    /// It was one, and has ended.
    Expired,
    /// Not a token of this house.
    Forged,
}

/// The key that makes and checks tokens, read once: at the first guest.
#[derive(Clone, Default)]
pub struct GuestTokens(Arc<OnceCell<[u8; 32]>>);

impl fmt::Debug for GuestTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guests").field("has_key", &self.0.initialized()).finish()
    }
}

impl GuestTokens {
    /// The token of this guest.
    ///
    /// # Errors
    /// The key cannot be read.
    pub async fn issue(&self, store: &Store, guest: &Guest) -> Result<String, StoreError> {
        let key = self.load_key(store).await?;
        let mut bytes = Vec::with_capacity(HEADER_BYTES + guest.name.len() + MAC_BYTES);
        bytes.extend([TOKEN_VERSION, purpose_code(guest.purpose)]);
        bytes.extend(guest.player.to_bytes());
        bytes.extend(guest.expires_at.0.to_be_bytes());
        bytes.extend(guest.name.as_bytes());
        let code = new_mac(key, SIGNING_CONTEXT, &bytes).finalize().into_bytes();
        bytes.extend_from_slice(&code);
        Ok(format!("{TOKEN_PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// What this text is. What it says is not looked at before its authentication code is found good, in constant time.
    ///
    /// # Errors
    /// The key cannot be read.
    pub async fn verify(&self, store: &Store, token: &str, now: UnixMs) -> Result<GuestTokenCheck, StoreError> {
        let encoded = token.strip_prefix(TOKEN_PREFIX);
        let Some(bytes) = encoded.and_then(|encoded| BASE64_URL_SAFE_NO_PAD.decode(encoded).ok()) else {
            return Ok(GuestTokenCheck::Forged);
        };
        let Some((said, code)) = bytes.split_last_chunk::<MAC_BYTES>() else { return Ok(GuestTokenCheck::Forged) };
        let key = self.load_key(store).await?;
        if new_mac(key, SIGNING_CONTEXT, said).verify_slice(code).is_err() {
            return Ok(GuestTokenCheck::Forged);
        }
        Ok(match parse_guest(said) {
            None => GuestTokenCheck::Forged,
            Some(guest) if guest.expires_at <= now => GuestTokenCheck::Expired,
            Some(guest) => GuestTokenCheck::Valid(guest),
        })
    }

    /// The code with which a node says something in this meaning to other nodes of its database.
    ///
    /// # Errors
    /// The key cannot be read.
    pub(super) async fn sign(&self, store: &Store, meaning: &[u8], said: &[u8]) -> Result<Vec<u8>, StoreError> {
        Ok(new_mac(self.load_key(store).await?, meaning, said).finalize().into_bytes().to_vec())
    }

    /// Whether a node of this database said so in this meaning; compared in constant time.
    ///
    /// # Errors
    /// The key cannot be read.
    pub(super) async fn is_signed_by_node(
        &self,
        store: &Store,
        meaning: &[u8],
        said: &[u8],
        code: &[u8],
    ) -> Result<bool, StoreError> {
        Ok(new_mac(self.load_key(store).await?, meaning, said).verify_slice(code).is_ok())
    }

    /// Whoever comes first to a database makes the key; the others are given that one.
    async fn load_key(&self, store: &Store) -> Result<&[u8; 32], StoreError> {
        let ensure = async || {
            let command = Command::EnsureSecret { name: KEY_NAME.to_owned(), bytes: random_bytes::<32>().to_vec() };
            match store.commit(command).await? {
                Outcome::Secret(bytes) => bytes.try_into().map_err(|_| invalid_key_error()),
                _ => Err(invalid_key_error()),
            }
        };
        self.0.get_or_try_init(ensure).await
    }
}

fn invalid_key_error() -> StoreError {
    StoreError::Corrupt { why: format!("the secret {KEY_NAME} is not a key of 32 bytes") }
}

fn new_mac(key: &[u8; 32], meaning: &[u8], said: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(meaning);
    mac.update(said);
    mac
}

fn parse_guest(said: &[u8]) -> Option<Guest> {
    let (&[layout, purpose], rest) = said.split_first_chunk()?;
    let (id, rest) = rest.split_first_chunk()?;
    let (until, name) = rest.split_first_chunk()?;
    if layout != TOKEN_VERSION {
        return None;
    }
    Some(Guest {
        player: PlayerId::from_bytes(*id),
        name: String::from_utf8(name.to_vec()).ok()?,
        purpose: TokenPurpose::ALL.into_iter().find(|known| purpose_code(*known) == purpose)?,
        expires_at: UnixMs(i64::from_be_bytes(*until)),
    })
}

fn purpose_code(purpose: TokenPurpose) -> u8 {
    match purpose {
        TokenPurpose::Use => 0,
        TokenPurpose::LoadTest => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use store::StoreConfig;
    use store::memory::MemoryDatabase;

    const NOW: UnixMs = UnixMs(1_700_000_000_000);

    fn store() -> Store {
        let database = Arc::new(MemoryDatabase::new());
        Store::open(database, StoreConfig { readers: 1 }, Arc::new(Metrics::default())).unwrap()
    }

    fn ann() -> Guest {
        Guest::new("Änn 🎴".to_owned(), TokenPurpose::LoadTest, NOW)
    }

    #[tokio::test]
    async fn a_token_says_who_its_guest_is_on_every_node() {
        let store = store();
        for name in ["a".to_owned(), "🎴".repeat(GUEST_NAME_CHARS_MAX)] {
            let guest = Guest { name, ..ann() };
            let token = GuestTokens::default().issue(&store, &guest).await.unwrap();
            assert!(token.len() <= super::super::auth::SECRET_BYTES_MAX, "{}", token.len());
            // Another node: another life of the key, out of the same store.
            let other = GuestTokens::default();
            assert_eq!(other.verify(&store, &token, NOW).await, Ok(GuestTokenCheck::Valid(guest.clone())));
            let last = UnixMs(guest.expires_at.0 - 1);
            assert_eq!(other.verify(&store, &token, last).await, Ok(GuestTokenCheck::Valid(guest.clone())));
            assert_eq!(other.verify(&store, &token, guest.expires_at).await, Ok(GuestTokenCheck::Expired));
        }
    }

    #[tokio::test]
    async fn no_changed_token_is_taken() {
        let (store, guests) = (store(), GuestTokens::default());
        let token = guests.issue(&store, &ann()).await.unwrap();
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(&token[TOKEN_PREFIX.len()..]).unwrap();
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                let forged = format!("{TOKEN_PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(changed));
                assert_eq!(guests.verify(&store, &forged, NOW).await, Ok(GuestTokenCheck::Forged), "byte {at}");
            }
        }
        for end in 0..token.len() {
            assert_eq!(
                guests.verify(&store, &token[..end], NOW).await,
                Ok(GuestTokenCheck::Forged),
                "{end} characters"
            );
        }
        for junk in [format!("{token}A"), format!("{token}="), token.replacen("gst_", "gnt_", 1), "gst_!".to_owned()] {
            assert_eq!(guests.verify(&store, &junk, NOW).await, Ok(GuestTokenCheck::Forged), "{junk}");
        }
    }

    #[tokio::test]
    async fn another_database_has_another_key() {
        let token = GuestTokens::default().issue(&store(), &ann()).await.unwrap();
        assert_eq!(GuestTokens::default().verify(&store(), &token, NOW).await, Ok(GuestTokenCheck::Forged));
    }
}
