//! A span that is recorded: what was done in some time, with what is known about it. It ends when it is dropped, so that it ends also where
//! its work is cancelled.

use crate::context::TraceContext;
use crate::record::{Attribute, AttributeValue, Beginning, SpanKind, SpanPosition, SpanRecord};
use crate::recorder::Recorder;
use std::fmt;
use std::sync::Arc;

/// A span under way: a pointer, so that what waits in thousands and is not traced takes no room for it.
pub struct Span(Box<ActiveSpan>);

struct ActiveSpan {
    recorder: Arc<Recorder>,
    position: SpanPosition,
    name: String,
    kind: SpanKind,
    began: Beginning,
    attributes: Vec<Attribute>,
    failure: Option<String>,
}

impl Span {
    pub(crate) fn start(recorder: Arc<Recorder>, position: SpanPosition, name: String, kind: SpanKind) -> Self {
        let (began, attributes, failure) = (Beginning::now(), Vec::new(), None);
        Self(Box::new(ActiveSpan { recorder, position, name, kind, began, attributes, failure }))
    }

    /// A span within this one.
    #[must_use]
    pub fn child(&self, name: impl Into<String>, kind: SpanKind) -> Self {
        let ActiveSpan { recorder, position, .. } = &*self.0;
        let position = SpanPosition {
            span_id: recorder.new_id(),
            parent_id: Some(position.span_id),
            has_remote_parent: false,
            ..*position
        };
        Self::start(recorder.clone(), position, name.into(), kind)
    }

    /// What a call within this span carries.
    #[must_use]
    pub fn context(&self) -> TraceContext {
        self.0.position.context(true)
    }

    pub fn set(&mut self, key: &'static str, value: impl Into<AttributeValue>) {
        self.0.attributes.push((key, value.into()));
    }

    /// What was to be done failed, in this way.
    pub fn fail(&mut self, failure: impl Into<String>) {
        self.0.failure = Some(failure.into());
    }
}

impl Drop for ActiveSpan {
    fn drop(&mut self) {
        let (began_unix_ns, ended_unix_ns) = self.began.until_now();
        self.recorder.record(SpanRecord {
            position: self.position,
            name: std::mem::take(&mut self.name),
            kind: self.kind,
            began_unix_ns,
            ended_unix_ns,
            attributes: std::mem::take(&mut self.attributes),
            failure: self.failure.take(),
        });
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Span({} {})", self.0.name, self.context())
    }
}
