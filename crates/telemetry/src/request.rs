//! The trace of a request. Whether it is recorded may change until its caller is known; then it is recorded whole, or not at all.

use crate::context::TraceContext;
use crate::record::{Attribute, AttributeValue, Beginning, SpanKind, SpanPosition, SpanRecord};
use crate::recorder::Recorder;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// In the extensions of a request where requests are traced.
#[derive(Clone)]
pub struct RequestTrace(Arc<Shared>);

struct Shared {
    recorder: Arc<Recorder>,
    position: SpanPosition,
    caller: Option<TraceContext>,
    is_sampled: AtomicBool,
    began: Beginning,
    attributes: Mutex<Vec<Attribute>>,
}

impl RequestTrace {
    pub(crate) fn new(
        recorder: Arc<Recorder>,
        position: SpanPosition,
        caller: Option<TraceContext>,
        is_sampled: bool,
    ) -> Self {
        let (is_sampled, began) = (AtomicBool::new(is_sampled), Beginning::now());
        Self(Arc::new(Shared { recorder, position, caller, is_sampled, began, attributes: Mutex::default() }))
    }

    /// The caller may decide whether the trace is recorded, and has, if it sent a context.
    pub fn trust_caller(&self) {
        if let Some(caller) = self.0.caller.filter(|_| self.0.recorder.sampler.follows_callers()) {
            self.0.is_sampled.store(caller.is_sampled, Ordering::Relaxed);
        }
    }

    /// What a call within this request carries, and its response.
    #[must_use]
    pub fn context(&self) -> TraceContext {
        self.0.position.context(self.is_sampled())
    }

    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.0.is_sampled.load(Ordering::Relaxed)
    }

    /// These matches belong to the trace, if it is recorded and this process plays them. To be called before another task can take them.
    pub fn remember_matches(&self, ids: impl Iterator<Item = u128>) {
        if self.is_sampled() {
            self.0.recorder.remember_matches(ids, self.context());
        }
    }

    pub fn set(&self, key: &'static str, value: impl Into<AttributeValue>) {
        if self.is_sampled() {
            self.attributes().push((key, value.into()));
        }
    }

    /// The span of the request, which ends when this is dropped. `route` is the declared one, never the path, which the client chose; it is read
    /// when the span is recorded.
    #[must_use]
    pub fn span<R: Fn() -> String>(&self, method: &'static str, route: R) -> RequestSpan<R> {
        RequestSpan { trace: self.clone(), method, route, ending: RequestEnding::Cancelled }
    }

    /// Consistent even if a holder of the lock panicked: each call adds one.
    fn attributes(&self) -> MutexGuard<'_, Vec<Attribute>> {
        self.0.attributes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEnding {
    /// Its client left before the response.
    Cancelled,
    /// It waits for an event, without a task; its response is not in the span.
    Parked,
    /// It got a response of this status.
    Answered(u16),
}

/// Ends the span of a request.
pub struct RequestSpan<R: Fn() -> String> {
    trace: RequestTrace,
    method: &'static str,
    route: R,
    pub ending: RequestEnding,
}

/// Attributes are named as OpenTelemetry's semantic conventions for HTTP servers have them.
impl<R: Fn() -> String> Drop for RequestSpan<R> {
    fn drop(&mut self) {
        if !self.trace.is_sampled() {
            return;
        }
        let Shared { recorder, position, began, .. } = &*self.trace.0;
        let (began_unix_ns, ended_unix_ns) = began.until_now();
        let mut attributes = std::mem::take(&mut *self.trace.attributes());
        let route = (self.route)();
        let name = format!("{} {route}", self.method);
        attributes.push(("http.request.method", self.method.into()));
        attributes.push(("http.route", route.into()));
        let mut failure = None;
        match self.ending {
            RequestEnding::Cancelled => attributes.push(("gauntlet.request.is_cancelled", true.into())),
            RequestEnding::Parked => attributes.push(("gauntlet.request.is_parked", true.into())),
            RequestEnding::Answered(status) => {
                attributes.push(("http.response.status_code", u64::from(status).into()));
                if status >= 500 {
                    attributes.push(("error.type", status.to_string().into()));
                    failure = Some(String::new());
                }
            }
        }
        let kind = SpanKind::Server;
        recorder.record(SpanRecord {
            position: *position,
            name,
            kind,
            began_unix_ns,
            ended_unix_ns,
            attributes,
            failure,
        });
    }
}
