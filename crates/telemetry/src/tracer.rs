//! Starts spans: those of requests and of matches, which are the first in this process.

use crate::context::TraceContext;
use crate::record::{SpanKind, SpanPosition, SpanRecord};
use crate::recorder::{Recorder, mix};
use crate::request::RequestTrace;
use crate::sampler::Sampler;
use crate::span::Span;
use metrics::Metrics;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The process's tracer: empty where nothing is traced.
#[derive(Clone, Default)]
pub struct Tracer(Option<Arc<Recorder>>);

impl Tracer {
    /// Nothing is traced.
    pub const OFF: Self = Self(None);

    /// A tracer, and the spans that end in it.
    pub(crate) fn new(sampler: Sampler, metrics: Arc<Metrics>) -> (Self, mpsc::Receiver<SpanRecord>) {
        let (recorder, spans) = Recorder::new(sampler, metrics);
        (if sampler.is_off() { Self::OFF } else { Self(Some(Arc::new(recorder))) }, spans)
    }

    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The trace of a request whose caller sent this context; `is_trusted`: the caller's flag decides whether it is recorded.
    #[must_use]
    pub fn start_request(&self, caller: Option<TraceContext>, is_trusted: bool) -> Option<RequestTrace> {
        let recorder = self.0.as_ref()?;
        let position = match caller {
            Some(caller) => SpanPosition {
                trace_id: caller.trace_id,
                span_id: recorder.new_id(),
                parent_id: Some(caller.span_id),
                has_remote_parent: true,
            },
            None => recorder.new_root(),
        };
        // A draw of its own: strangers choose the ids of their traces, and would choose those that are drawn.
        let is_drawn = recorder.sampler.takes(recorder.new_id());
        let trace = RequestTrace::new(recorder.clone(), position, caller, is_drawn);
        if is_trusted {
            trace.trust_caller();
        }
        Some(trace)
    }

    /// The span of a match that this process plays, if it is recorded: as part of the request that created it, or as a trace of its own, whose id is that
    /// of the match. Any process draws the same matches, so that a match which another one resumes goes on in its trace.
    #[must_use]
    pub fn start_match(&self, id: u128) -> Option<Span> {
        let recorder = self.0.as_ref()?;
        let creator = recorder.creator(id);
        let position = match creator {
            Some(creator) => SpanPosition {
                trace_id: creator.trace_id,
                span_id: recorder.new_id(),
                parent_id: Some(creator.span_id),
                has_remote_parent: false,
            },
            None if recorder.sampler.takes(mix(id as u64)) => SpanPosition { trace_id: id, ..recorder.new_root() },
            None => return None,
        };
        Some(Span::start(recorder.clone(), position, "match".to_owned(), SpanKind::Internal))
    }
}
