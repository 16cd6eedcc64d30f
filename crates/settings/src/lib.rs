//! The configuration: defaults, then the file, then the environment, then the flags, validated as a whole before anything starts.
//!
//! One table ([`table::SETTINGS`]) declares every setting. Knows nothing of what the values do.

mod error;
mod load;
mod networks;
mod relations;
mod secret;
mod source;
mod table;
mod telemetry;
#[cfg(test)]
mod tests;
mod value;

pub use error::{ConfigError, ValidationError};
pub use load::Entry;
pub use networks::Networks;
pub use relations::StoreLocation;
pub use secret::{DatabaseUrl, Secret};
pub use source::{Machine, Source, Sources};
pub use table::{Config, SETTINGS, Setting};
pub use telemetry::{CollectorUrl, HostPort, KeyValues, Ratio, SecretHeaders, ServiceName, StatsdLabels, TraceSampler};
pub use value::{Advertise, Interface, KeepFor, LogFormat, LogLevel, ServeMode, Targets};
