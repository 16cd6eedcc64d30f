//! The settings of a world as bytes: `format:u8=1 fields` (see `pack`).

use crate::pack::{DecodeError, decode_versioned, encode_versioned, packed, packed_as};
use rules::world::{HuntSettings, LifeSettings, Sharing, Size, WorldSettings};

const FORMAT: u8 = 1;

/// The bytes of a world's settings, as stores keep them.
#[must_use]
pub fn settings_to_bytes(settings: &WorldSettings) -> Vec<u8> {
    encode_versioned(FORMAT, settings)
}

/// The settings of these bytes: all of them, and nothing but the canonical form.
///
/// # Errors
/// [`DecodeError`] when they are not that. Whether a world can be laid out by them is not checked.
pub fn settings_from_bytes(bytes: &[u8]) -> Result<WorldSettings, DecodeError> {
    decode_versioned(FORMAT, bytes)
}

packed!(WorldSettings { size, tree_permille, sharing, life, hunt, move_min });
packed!(Size { width, height });
packed!(LifeSettings { generation, start_permille });
packed!(HuntSettings { chests, power_ups, points_max, round, pause, rounds, power_up });

packed_as!(Sharing: bool, |sharing| *sharing == Self::One, |is_one| {
    Ok(if is_one { Self::One } else { Self::Many })
});

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(settings: WorldSettings) {
        let bytes = settings_to_bytes(&settings);
        assert_eq!(settings_from_bytes(&bytes), Ok(settings));
        for length in 0..bytes.len() {
            assert!(settings_from_bytes(&bytes[..length]).is_err(), "{length} bytes of {}", bytes.len());
        }
        let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
        assert!(settings_from_bytes(&longer).is_err());
    }

    #[test]
    fn settings_become_bytes_and_back() {
        check(WorldSettings::default());
        check(WorldSettings { sharing: Sharing::One, life: Some(LifeSettings::default()), ..WorldSettings::default() });
        check(WorldSettings {
            hunt: Some(HuntSettings { chests: 70_000, ..HuntSettings::default() }),
            ..WorldSettings::default()
        });
    }
}
