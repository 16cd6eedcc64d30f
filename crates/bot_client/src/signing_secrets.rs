//! The secrets with which bots' calls are signed, of this database.

use super::signing::{SecretDeriver, SigningKeys, SigningSecret};
use engine::commands::{Command, Outcome};
use engine::ids::BotId;
use engine::rows::SigningRow;
use engine::time::UnixMs;
use std::sync::Arc;
use store::{Store, StoreError};
use tokio::sync::OnceCell;

const KEY_NAME: &str = "bot_signing";
const KEY_BYTES: usize = 32;

/// Derives bots' secrets from one secret of the database, which is read once: for the first bot whose calls are signed.
#[derive(Clone)]
pub struct SigningSecrets {
    store: Store,
    random_key: [u8; KEY_BYTES],
    deriver: Arc<OnceCell<SecretDeriver>>,
}

impl SigningSecrets {
    /// `random_key` becomes the secret of the database if it has none; it must come from the operating system's generator.
    #[must_use]
    pub fn new(store: Store, random_key: [u8; KEY_BYTES]) -> Self {
        Self { store, random_key, deriver: Arc::default() }
    }

    /// A bot's secret of this generation.
    ///
    /// # Errors
    /// The secret of the database cannot be read.
    pub async fn secret(&self, bot: BotId, generation: u32) -> Result<SigningSecret, StoreError> {
        Ok(self.deriver().await?.secret(bot, generation))
    }

    /// With which keys a bot's calls are signed now.
    ///
    /// # Errors
    /// The secret of the database cannot be read.
    pub async fn keys(&self, row: SigningRow, now: UnixMs) -> Result<Arc<SigningKeys>, StoreError> {
        Ok(Arc::new(self.deriver().await?.keys(row.bot, row.state, now)))
    }

    /// The first process of a database creates its secret; the others get that one.
    async fn deriver(&self) -> Result<&SecretDeriver, StoreError> {
        let ensure = async || {
            let command = Command::EnsureSecret { name: KEY_NAME.to_owned(), bytes: self.random_key.to_vec() };
            match self.store.commit(command).await? {
                Outcome::Secret(bytes) if bytes.len() == KEY_BYTES => Ok(SecretDeriver::new(&bytes)),
                _ => {
                    Err(StoreError::Corrupt { why: format!("the secret {KEY_NAME} is not a key of {KEY_BYTES} bytes") })
                }
            }
        };
        self.deriver.get_or_try_init(ensure).await
    }
}
