//! Guests: people who play Stories without an account. A guest's token holds the guest: their id, their name and the expiry, under an
//! HMAC-SHA-256 (RFC 2104) with a key that all nodes of one database share. Nothing is stored of a guest who does nothing, so a flood
//! of them fills no table.
//!
//! Knows tokens and their key. Does not know what a guest may do.

use super::credentials::GUEST_PREFIX;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use engine::commands::{Command, Outcome};
use engine::ids::PlayerId;
use engine::limits::{GUEST_NAME_CHARS_MAX, GUEST_TOKEN_LIFETIME};
use engine::rows::TokenPurpose;
use engine::time::UnixMs;
use hmac::{Hmac, KeyInit, Mac};
use node::clock::random_bytes;
use sha2::Sha256;
use std::fmt;
use std::sync::Arc;
use store::{Store, StoreError};
use tokio::sync::OnceCell;

/// The name under which the store keeps the key.
const KEY_NAME: &str = "guests";
/// The domain separation of the authentication code: a key must never sign the same bytes in two meanings.
const SIGNING_CONTEXT: &[u8] = b"gauntlet guest token\0";
/// The layout of the bytes: tokens of another layout are refused.
const TOKEN_VERSION: u8 = 1;
/// Version, purpose, id, expiry: the name fills the rest.
const HEADER_BYTES: usize = 1 + 1 + 16 + 8;
const MAC_BYTES: usize = 32;

const _: () = assert!(
    GUEST_PREFIX.len() + (HEADER_BYTES + GUEST_NAME_CHARS_MAX * 4 + MAC_BYTES).div_ceil(3) * 4
        <= super::credentials::SECRET_BYTES_MAX,
    "the longest name fits into a token that is looked at"
);

/// The guest that a token holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// Their id at every table and in every world.
    pub player: PlayerId,
    /// Their name; other guests may have the same.
    pub name: String,
    /// The purpose: the rate limiter distinguishes guests of a load test.
    pub purpose: TokenPurpose,
    pub expires_at: UnixMs,
}

impl Guest {
    #[must_use]
    pub fn new(name: String, purpose: TokenPurpose, now: UnixMs) -> Self {
        Self { player: PlayerId::new(now, random_bytes()), name, purpose, expires_at: now.plus(GUEST_TOKEN_LIFETIME) }
    }
}

/// The result of checking a text that may be a guest's token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestTokenCheck {
    Valid(Guest),
    Expired,
    /// Not a token of this database.
    Forged,
}

/// The key that signs and checks tokens, read once: for the first guest.
#[derive(Clone)]
pub struct GuestTokens {
    store: Store,
    key: Arc<OnceCell<[u8; 32]>>,
}

impl fmt::Debug for GuestTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuestTokens").field("has_key", &self.key.initialized()).finish()
    }
}

impl GuestTokens {
    /// The tokens of this database.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store, key: Arc::default() }
    }

    /// # Errors
    /// The key cannot be read.
    pub async fn issue(&self, guest: &Guest) -> Result<String, StoreError> {
        let key = self.load_key().await?;
        let mut bytes = Vec::with_capacity(HEADER_BYTES + guest.name.len() + MAC_BYTES);
        bytes.extend([TOKEN_VERSION, purpose_code(guest.purpose)]);
        bytes.extend(guest.player.to_bytes());
        bytes.extend(guest.expires_at.0.to_be_bytes());
        bytes.extend(guest.name.as_bytes());
        let mac = new_mac(key, SIGNING_CONTEXT, &bytes).finalize().into_bytes();
        bytes.extend_from_slice(&mac);
        Ok(format!("{GUEST_PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Checks a token. Its content is read only after its authentication code is found valid, in constant time.
    ///
    /// # Errors
    /// The key cannot be read.
    pub async fn verify(&self, token: &str, now: UnixMs) -> Result<GuestTokenCheck, StoreError> {
        let encoded = token.strip_prefix(GUEST_PREFIX);
        let Some(bytes) = encoded.and_then(|encoded| BASE64_URL_SAFE_NO_PAD.decode(encoded).ok()) else {
            return Ok(GuestTokenCheck::Forged);
        };
        let Some((payload, mac)) = bytes.split_last_chunk::<MAC_BYTES>() else { return Ok(GuestTokenCheck::Forged) };
        let key = self.load_key().await?;
        if new_mac(key, SIGNING_CONTEXT, payload).verify_slice(mac).is_err() {
            return Ok(GuestTokenCheck::Forged);
        }
        Ok(match parse_guest(payload) {
            None => GuestTokenCheck::Forged,
            Some(guest) if guest.expires_at <= now => GuestTokenCheck::Expired,
            Some(guest) => GuestTokenCheck::Valid(guest),
        })
    }

    /// Signs a payload in this context, for other nodes of the same database.
    ///
    /// # Errors
    /// The key cannot be read.
    pub(super) async fn sign(&self, context: &[u8], payload: &[u8]) -> Result<Vec<u8>, StoreError> {
        Ok(new_mac(self.load_key().await?, context, payload).finalize().into_bytes().to_vec())
    }

    /// Whether a node of this database signed this payload in this context; compared in constant time.
    ///
    /// # Errors
    /// The key cannot be read.
    pub(super) async fn is_signed_by_node(
        &self,
        context: &[u8],
        payload: &[u8],
        mac: &[u8],
    ) -> Result<bool, StoreError> {
        Ok(new_mac(self.load_key().await?, context, payload).verify_slice(mac).is_ok())
    }

    /// The first process of a database creates the key; the others get that one.
    async fn load_key(&self) -> Result<&[u8; 32], StoreError> {
        let ensure = async || {
            let command = Command::EnsureSecret { name: KEY_NAME.to_owned(), bytes: random_bytes::<32>().to_vec() };
            match self.store.commit(command).await? {
                Outcome::Secret(bytes) => bytes.try_into().map_err(|_| invalid_key_error()),
                _ => Err(invalid_key_error()),
            }
        };
        self.key.get_or_try_init(ensure).await
    }
}

fn invalid_key_error() -> StoreError {
    StoreError::Corrupt { why: format!("the secret {KEY_NAME} is not a key of 32 bytes") }
}

fn new_mac(key: &[u8; 32], context: &[u8], payload: &[u8]) -> Hmac<Sha256> {
    let mut hmac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    hmac.update(context);
    hmac.update(payload);
    hmac
}

fn parse_guest(payload: &[u8]) -> Option<Guest> {
    let (&[layout, purpose], rest) = payload.split_first_chunk()?;
    let (id, rest) = rest.split_first_chunk()?;
    let (expires_at, name) = rest.split_first_chunk()?;
    if layout != TOKEN_VERSION {
        return None;
    }
    Some(Guest {
        player: PlayerId::from_bytes(*id),
        name: String::from_utf8(name.to_vec()).ok()?,
        purpose: TokenPurpose::ALL.into_iter().find(|known| purpose_code(*known) == purpose)?,
        expires_at: UnixMs(i64::from_be_bytes(*expires_at)),
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
    use metrics::Metrics;
    use store::StoreConfig;
    use store::testing::MemoryDatabase;

    const NOW: UnixMs = UnixMs(1_700_000_000_000);

    fn store() -> Store {
        let database = Arc::new(MemoryDatabase::new());
        Store::open(database, StoreConfig { readers: 1 }, Arc::new(Metrics::default())).unwrap()
    }

    fn ann() -> Guest {
        Guest::new("Änn 🎴".to_owned(), TokenPurpose::LoadTest, NOW)
    }

    #[tokio::test]
    async fn a_token_identifies_its_guest_on_every_node() {
        let store = store();
        for name in ["a".to_owned(), "🎴".repeat(GUEST_NAME_CHARS_MAX)] {
            let guest = Guest { name, ..ann() };
            let token = GuestTokens::new(store.clone()).issue(&guest).await.unwrap();
            assert!(token.len() <= super::super::credentials::SECRET_BYTES_MAX, "{}", token.len());
            // Another node reads the key from the same store.
            let other = GuestTokens::new(store.clone());
            assert_eq!(other.verify(&token, NOW).await, Ok(GuestTokenCheck::Valid(guest.clone())));
            let last = UnixMs(guest.expires_at.0 - 1);
            assert_eq!(other.verify(&token, last).await, Ok(GuestTokenCheck::Valid(guest.clone())));
            assert_eq!(other.verify(&token, guest.expires_at).await, Ok(GuestTokenCheck::Expired));
        }
    }

    #[tokio::test]
    async fn a_changed_token_is_refused() {
        let guests = GuestTokens::new(store());
        let token = guests.issue(&ann()).await.unwrap();
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(&token[GUEST_PREFIX.len()..]).unwrap();
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                let forged = format!("{GUEST_PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(changed));
                assert_eq!(guests.verify(&forged, NOW).await, Ok(GuestTokenCheck::Forged), "byte {at}");
            }
        }
        for end in 0..token.len() {
            assert_eq!(guests.verify(&token[..end], NOW).await, Ok(GuestTokenCheck::Forged), "{end} characters");
        }
        for junk in [format!("{token}A"), format!("{token}="), token.replacen("gst_", "gnt_", 1), "gst_!".to_owned()] {
            assert_eq!(guests.verify(&junk, NOW).await, Ok(GuestTokenCheck::Forged), "{junk}");
        }
    }

    #[tokio::test]
    async fn another_database_has_another_key() {
        let token = GuestTokens::new(store()).issue(&ann()).await.unwrap();
        assert_eq!(GuestTokens::new(store()).verify(&token, NOW).await, Ok(GuestTokenCheck::Forged));
    }
}
