//! Sends traces and metrics to the configured collectors, from the start of the process to the end of its drain.

use gateway::app::App;
use gateway::ops;
use http::{HeaderMap, HeaderName, HeaderValue};
use metrics::Metrics;
use settings::{CollectorUrl, Config, SecretHeaders, StatsdLabels};
use std::sync::Arc;
use std::time::Duration;
use telemetry::{
    CollectorConfig, MetricsExporter, ResourceAttributes, Sampler, SpanExporter, StatsdExporter, StatsdTags, Tracer,
};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// What the configuration says to send, and the tracer whose spans are sent.
pub(crate) struct Telemetry {
    pub(crate) tracer: Tracer,
    spans: Option<SpanExporter>,
    metrics: Option<MetricsExporter>,
    statsd: Option<StatsdExporter>,
}

impl Telemetry {
    pub(crate) fn new(config: &Config, process_id: u128, metrics: &Arc<Metrics>) -> Self {
        let statsd = config.telemetry_statsd_address.as_ref().map(|address| {
            let tags = match config.telemetry_statsd_tags {
                StatsdLabels::None => StatsdTags::None,
                StatsdLabels::Datadog => StatsdTags::Datadog,
            };
            StatsdExporter::new(address.0.clone(), tags, metrics.clone())
        });
        let Some(endpoint) = &config.telemetry_otlp_endpoint else {
            return Self { tracer: Tracer::OFF, spans: None, metrics: None, statsd };
        };
        let (collector, resource) = (collector(config, endpoint), resource(config, process_id));
        let of_metrics = config
            .telemetry_otlp_metrics
            .then(|| MetricsExporter::new(collector.clone(), resource.clone(), metrics.clone()));
        let sampler = config.telemetry_sampler;
        let sampler = Sampler::new(sampler.ratio(config.telemetry_sampler_ratio), sampler.follows_callers());
        let (tracer, spans) = SpanExporter::new(sampler, collector, resource, metrics.clone());
        let spans = tracer.is_on().then_some(spans);
        Self { tracer, spans, metrics: of_metrics, statsd }
    }

    pub(crate) fn start(self, app: &App) -> TelemetryTasks {
        let (stop, stopped) = oneshot::channel();
        let spans = self.spans.map(|spans| tokio::spawn(spans.run(async { drop(stopped.await) })));
        let is_sending = self.metrics.is_some() || self.statsd.is_some();
        let metrics = is_sending.then(|| tokio::spawn(send_metrics(app.clone(), self.metrics, self.statsd)));
        TelemetryTasks { spans, metrics, stop }
    }
}

/// The tasks that send.
pub(crate) struct TelemetryTasks {
    spans: Option<JoinHandle<()>>,
    metrics: Option<JoinHandle<()>>,
    stop: oneshot::Sender<()>,
}

impl TelemetryTasks {
    /// Sends the spans that have ended, as far as `wait_max` allows.
    pub(crate) async fn finish(self, wait_max: Duration) {
        self.metrics.iter().for_each(JoinHandle::abort);
        let _ = self.stop.send(());
        if let Some(mut spans) = self.spans
            && timeout(wait_max, &mut spans).await.is_err()
        {
            spans.abort();
        }
    }
}

async fn send_metrics(app: App, mut otlp: Option<MetricsExporter>, mut statsd: Option<StatsdExporter>) {
    let mut turns = interval(app.config.telemetry_metrics_interval);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        turns.tick().await;
        let page = ops::metrics_page(&app).await;
        if let Some(statsd) = &mut statsd {
            statsd.send(&page).await;
        }
        if let Some(otlp) = &mut otlp {
            otlp.send(&page).await;
        }
    }
}

fn collector(config: &Config, endpoint: &CollectorUrl) -> CollectorConfig {
    let headers = config.telemetry_otlp_headers.iter().flat_map(SecretHeaders::expose);
    let headers: HeaderMap = headers
        .filter_map(|(name, value)| {
            let mut value = HeaderValue::from_str(value).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value))
        })
        .collect();
    CollectorConfig {
        is_tls: endpoint.is_tls,
        authority: endpoint.authority.clone(),
        path: endpoint.path.clone(),
        headers,
        timeout: config.telemetry_otlp_timeout,
    }
}

/// The attributes that the configuration adds go before those that the process knows.
fn resource(config: &Config, process_id: u128) -> ResourceAttributes {
    let own = [
        ("service.name", config.telemetry_service_name.0.clone()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id", format!("{process_id:032x}")),
    ];
    let mut attributes = config.telemetry_resource_attributes.0.clone();
    for (key, value) in own {
        // A name of the service that was chosen goes before the attribute, as the standard says.
        if key == "service.name" && value != "gauntlet" {
            attributes.retain(|(given, _)| given != key);
        }
        if !attributes.iter().any(|(given, _)| given == key) {
            attributes.push((key.to_owned(), value));
        }
    }
    ResourceAttributes(attributes)
}
