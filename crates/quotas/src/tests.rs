use super::*;
use engine::ids::WorldId;
use rate_limit::LimitClock;

fn config() -> Config {
    let mut config = Config::default();
    config.quotas_guests_per_hour = 4;
    config.quotas_tables_per_hour = 2;
    config.quotas_hunts_per_hour = 3;
    config.quotas_hunts_per_address_max = 2;
    config.quotas_cells_per_address_max = 100;
    config
}

fn quotas(config: &Config) -> Quotas {
    Quotas::new(config, Arc::default(), [7; 32])
}

fn key(host: u8) -> Option<AddressKey> {
    Some(AddressKey::of([192, 0, 2, host].into()))
}

fn hunt(id: u128, ends_at: i64, cells: u32) -> LiveHunt {
    LiveHunt { id: WorldId(id), ends_at: UnixMs(ends_at), cells }
}

/// What is refused: of what, and whether for the hour.
fn refused(made: Result<(), QuotaExceeded>) -> Option<(QuotaKind, bool)> {
    made.err().map(|exceeded| (exceeded.kind, exceeded.is_hourly))
}

#[track_caller]
fn check_counted(address: &str, counts_loopback: bool, want: Option<&str>) {
    let mut config = config();
    config.quotas_loopback = counts_loopback;
    let quotas = quotas(&config);
    let counted = quotas.subject_key(Some(address.parse().unwrap())).map(|key| key.to_string());
    assert_eq!(counted.as_deref(), want, "{address}");
}

#[test]
fn loopback_counts_if_it_is_said_so() {
    check_counted("127.0.0.1", false, None);
    check_counted("::1", false, None);
    check_counted("::ffff:127.0.0.9", false, None);
    check_counted("127.0.0.1", true, Some("127.0.0.1"));
    check_counted("192.0.2.7", false, Some("192.0.2.7"));
    check_counted("2001:db8::1", false, Some("2001:db8::/64"));
    assert_eq!(quotas(&config()).subject_key(None), None);
}

#[test]
fn an_address_makes_so_many_in_an_hour() {
    let (quotas, clock) = (quotas(&config()), LimitClock::manual());
    for _ in 0..4 {
        assert_eq!(quotas.charge_guest(key(1), clock.now()), Ok(()));
    }
    let exceeded = quotas.charge_guest(key(1), clock.now()).unwrap_err();
    assert_eq!((exceeded.kind, exceeded.max, exceeded.retry_after_s), (QuotaKind::Guests, 4, 900));
    assert_eq!(quotas.charge_guest(key(2), clock.now()), Ok(()), "another address has a quota of its own");
    assert_eq!(quotas.charge_table(key(1), clock.now()), Ok(()), "so has another kind");
    assert_eq!(quotas.charge_guest(None, clock.now()), Ok(()));
    clock.advance(Duration::from_secs(900));
    assert_eq!(quotas.charge_guest(key(1), clock.now()), Ok(()));
    clock.advance(HOUR * 2);
    quotas.sweep(clock.now());
    assert_eq!(quotas.guests.by_address.keys(), 0, "nobody is remembered for ever");
}

#[test]
fn hunts_count_until_they_are_over_and_by_their_cells() {
    let (quotas, clock) = (quotas(&config()), LimitClock::manual());
    let make = |host, hunt, now| refused(quotas.charge_hunt(key(host), hunt, UnixMs(now), clock.now()));
    assert_eq!(make(1, hunt(1, 100, 60), 0), None);
    assert_eq!(make(1, hunt(2, 200, 41), 0), Some((QuotaKind::Cells, false)));
    assert_eq!(make(1, hunt(2, 200, 40), 0), None);
    assert_eq!(make(1, hunt(3, 300, 0), 0), Some((QuotaKind::Hunts, false)));
    assert_eq!(make(2, hunt(4, 50, 100), 0), None, "another address");
    assert_eq!(make(1, hunt(3, 300, 0), 99), Some((QuotaKind::Hunts, false)));
    assert_eq!(make(1, hunt(3, 300, 60), 100), None, "the first is over");
    assert_eq!(quotas.lock_live_hunts().address_count(), 1, "whose hunts are over is forgotten");
    assert_eq!(quotas.hunts_of(key(1).unwrap()), [WorldId(2), WorldId(3)]);
    quotas.release_hunt(WorldId(2));
    assert_eq!(make(1, hunt(5, 300, 1), 100), Some((QuotaKind::Hunts, true)), "three in an hour");
    assert_eq!(quotas.hunts_of(key(1).unwrap()), [WorldId(3)], "a refusal counts nowhere");
    assert_eq!(refused(quotas.charge_hunt(None, hunt(6, 300, 1_000), UnixMs(0), clock.now())), None);
}

#[test]
fn a_refusal_says_what_to_do() {
    for kind in QuotaKind::ALL {
        let at_once = QuotaExceeded::at_once(kind, 7);
        let hourly = QuotaExceeded { is_hourly: true, retry_after_s: 12, ..at_once };
        assert!(at_once.to_string().contains("one address may have (7): "), "{at_once}");
        assert!(hourly.to_string().ends_with("in an hour (7): try again in 12 s"), "{hourly}");
    }
}
