//! Values for the placeholders of a statement, as both databases take them.

use super::IdBytes;
use engine::ids::{
    AccountId, AuditId, BanId, BotId, CodeId, CompetitionId, EntryId, MatchId, PlayerId, TableId, TicketId, TokenId,
    WorkerId, WorldId,
};
use engine::time::UnixMs;
use postgres::types::private::BytesMut;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use rusqlite::types::{ToSqlOutput, ValueRef};
use std::error::Error;

/// A value for a placeholder. Ids are blobs of 16 bytes in SQLite and UUIDs in PostgreSQL, every whole number is a BIGINT, every other
/// a double.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'v> {
    Null,
    Id(IdBytes),
    Int(i64),
    Real(f64),
    Flag(bool),
    Text(&'v str),
    Bytes(&'v [u8]),
}

/// Values for `?1`, `?2` and so on.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        &[$($crate::sql::Value::from($value)),*]
    };
}
pub(crate) use values;

macro_rules! from {
    ($($type:ty: $value:pat => $made:expr;)*) => {
        $(impl<'v> From<$type> for Value<'v> {
            fn from($value: $type) -> Self {
                $made
            }
        })*
    };
}

from! {
    IdBytes: id => Self::Id(id);
    AccountId: id => Self::Id(id.to_bytes());
    AuditId: id => Self::Id(id.to_bytes());
    BanId: id => Self::Id(id.to_bytes());
    BotId: id => Self::Id(id.to_bytes());
    CodeId: id => Self::Id(id.to_bytes());
    EntryId: id => Self::Id(id.to_bytes());
    CompetitionId: id => Self::Id(id.to_bytes());
    MatchId: id => Self::Id(id.to_bytes());
    PlayerId: id => Self::Id(id.to_bytes());
    TableId: id => Self::Id(id.to_bytes());
    TicketId: id => Self::Id(id.to_bytes());
    TokenId: id => Self::Id(id.to_bytes());
    WorkerId: id => Self::Id(id.to_bytes());
    WorldId: id => Self::Id(id.to_bytes());
    UnixMs: at => Self::Int(at.0);
    f64: number => Self::Real(number);
    i64: number => Self::Int(number);
    i32: number => Self::Int(number.into());
    u32: number => Self::Int(number.into());
    u16: number => Self::Int(number.into());
    u8: number => Self::Int(number.into());
    usize: number => Self::Int(i64::try_from(number).unwrap_or(i64::MAX));
    bool: flag => Self::Flag(flag);
    &'v str: text => Self::Text(text);
    &'v String: text => Self::Text(text);
    &'v [u8]: bytes => Self::Bytes(bytes);
    &'v Vec<u8>: bytes => Self::Bytes(bytes);
    &'v [u8; 32]: digest => Self::Bytes(digest);
}

impl<'v, T: Into<Value<'v>>> From<Option<T>> for Value<'v> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Id(id) => ValueRef::Blob(id),
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Flag(flag) => ValueRef::Integer((*flag).into()),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Id(id) => {
                out.extend_from_slice(id);
                Ok(IsNull::No)
            }
            Self::Int(number) => number.to_sql(kind, out),
            Self::Real(number) => number.to_sql(kind, out),
            Self::Flag(flag) => flag.to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
            Self::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::UUID, Type::INT8, Type::FLOAT8, Type::BOOL, Type::TEXT, Type::BYTEA].contains(kind)
    }

    to_sql_checked!();
}
