//! The schedule of the lab in whole trials. These tests measure time: the test runner gives them the machine alone.

use std::time::Duration;

use lab::limits::LAG_P99_MAX;

use super::{OutDir, WORK, run};
use crate::stub_service::{RequestFate, Stub};
use crate::wake_probe::WakeProbe;

/// Tests that measure time may try so often: a busy machine may spoil one try.
const TRIES: usize = 3;

/// The lab's own test, and one of two that measure time: a service that stops for a second must show in the latency of
/// every arrival that was due meanwhile, and in the service time of only one request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stall_shows_in_latency_and_not_in_the_service_time_of_others() {
    let stall = Duration::from_secs(1);
    let mut odd = Vec::new();
    for _ in 0..TRIES {
        let (out, stub) = (
            OutDir::new(),
            Stub::pausing(
                |_| RequestFate::Finishes,
                move |n| Box::pin(tokio::time::sleep(if n == 100 { stall } else { Duration::ZERO })),
            ),
        );
        let settings = ["phase.create.arrivals={ rate = 100, for = \"2s\" }", "phase.create.in_flight_max=1"];
        let finished = run(WORK, &settings, &stub, &out.0).await;
        let create = &finished.run.results.journeys["create"].op;
        let (latency, service) = (&create.latency_ms, &create.service_ms);
        assert_eq!(create.ok, 200);
        assert!(latency.p99.unwrap() > 900.0 && latency.p90.unwrap() > 700.0, "{latency:?}");
        assert!(service.max.unwrap() >= 1000.0, "{service:?}");
        // The wait for a free slot is due to the target: the generator was not late.
        let lag = finished.run.results.generator.schedule_lag_ms.p99.unwrap();
        if service.p99.unwrap() < 250.0 && lag < 100.0 {
            return;
        }
        odd.push((service.clone(), lag));
    }
    panic!("the stall was everybody's, or the lab was late: {odd:?}");
}

/// The other one: against a service without faults the generator keeps its own schedule, on a machine that wakes it in
/// time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_perfect_service_leaves_the_lab_on_time() {
    let mut late = Vec::new();
    for _ in 0..TRIES {
        let (out, stub, watch) = (OutDir::new(), Stub::new(|_| RequestFate::Finishes), WakeProbe::start());
        let settings = ["phase.create.arrivals={ rate = 200, for = \"1s\" }", "phase.create.in_flight_max=50"];
        let finished = run(WORK, &settings, &stub, &out.0).await;
        let own_ms = watch.finish_p99_ms();
        let generator = &finished.run.results.generator;
        assert_eq!((generator.arrivals, generator.not_sent), (200, 0));
        let lag_ms = generator.schedule_lag_ms.p99.unwrap();
        if lag_ms < LAG_P99_MAX.as_secs_f64() * 1_000.0 || lag_ms < 2.0 * own_ms {
            return;
        }
        late.push((lag_ms, own_ms));
    }
    panic!("the lab was late three times, and a thread that sleeps was not: {late:?} ms");
}
