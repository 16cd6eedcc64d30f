//! stub
use crate::contract::*;
pub struct PostgresDatabase;
impl PostgresDatabase { pub fn new(_url: &str) -> Result<Self, StoreError> { Ok(Self) } }
impl Database for PostgresDatabase {
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError> { Err(StoreError::Unavailable{why:"stub".into()}) }
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> { Err(StoreError::Unavailable{why:"stub".into()}) }
    fn is_shared(&self) -> bool { true }
    fn kind(&self) -> &'static str { "postgres" }
}
