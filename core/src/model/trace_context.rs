//! Where a request stands in a trace.

use alloc::string::String;

use super::{Meta, key};

/// The trace that a request belongs to, as W3C Trace Context and Baggage write it. It travels in `_meta`, under `traceparent`,
/// `tracestate` and `baggage`.
///
/// ```
/// use windlass::client::CallOptions;
/// use windlass::model::TraceContext;
///
/// let trace = TraceContext::new("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").expect("it is one");
/// let options = CallOptions::new().trace(&trace);
/// assert_eq!(options.meta.as_ref().and_then(TraceContext::read), Some(trace));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceContext {
    /// The position: version, trace, parent, flags.
    pub traceparent: String,
    /// Vendors' data.
    pub tracestate: Option<String>,
    /// Properties that travel along.
    pub baggage: Option<String>,
}

impl TraceContext {
    /// A position in a trace; none if it is not written as W3C Trace Context asks.
    pub fn new(traceparent: impl Into<String>) -> Option<Self> {
        let traceparent = traceparent.into();
        is_traceparent(&traceparent).then_some(Self { traceparent, tracestate: None, baggage: None })
    }

    /// The position that the `_meta` of a request names, if it is one.
    pub fn read(meta: &Meta) -> Option<Self> {
        let mut trace = Self::new(meta.get::<String>(key::TRACEPARENT)?)?;
        trace.tracestate = meta.get(key::TRACESTATE);
        trace.baggage = meta.get(key::BAGGAGE);
        Some(trace)
    }

    /// Names the position in the `_meta` of a request.
    pub fn write(&self, meta: &mut Meta) {
        let members = [(key::TRACESTATE, &self.tracestate), (key::BAGGAGE, &self.baggage)];
        let members = members.into_iter().filter_map(|(name, value)| value.as_ref().map(|value| (name, value)));
        for (name, value) in [(key::TRACEPARENT, &self.traceparent)].into_iter().chain(members) {
            let written = meta.insert(name, value);
            debug_assert!(written.is_ok(), "a text is always JSON");
        }
    }
}

setters!(TraceContext {
    with_tracestate(tracestate: impl Into<String>),
    with_baggage(baggage: impl Into<String>),
});

/// Whether a text is a version, a trace, a parent and flags. Versions to come may say more behind them.
fn is_traceparent(text: &str) -> bool {
    let is_hex =
        |part: &str, length| part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_some = |part: &str| part.bytes().any(|byte| byte != b'0');
    let mut parts = text.splitn(5, '-');
    let [version, trace, parent, flags] = core::array::from_fn(|_| parts.next().unwrap_or_default());
    let known = version != "00" || parts.next().is_none();
    is_hex(version, 2)
        && version != "ff"
        && is_hex(trace, 32)
        && is_some(trace)
        && is_hex(parent, 16)
        && is_some(parent)
        && is_hex(flags, 2)
        && known
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn positions_are_as_the_w3c_writes_them() {
        let (before, after) = (&TRACE[..2], &TRACE[2..]);
        assert_eq!(before, "00");
        for right in [TRACE.into(), alloc::format!("01{after}"), alloc::format!("cc{after}-what-comes-later")] {
            assert!(TraceContext::new(right.as_str()).is_some(), "{right}");
        }
        for wrong in [
            "",
            "00",
            &TRACE[..54],
            &alloc::format!("{TRACE}-more"),
            &alloc::format!("ff{after}"),
            &alloc::format!("0{after}"),
            &TRACE.replace("4bf92f35", "4BF92F35"),
            &TRACE.replace("4bf92f3577b34da6a3ce929d0e0e4736", "00000000000000000000000000000000"),
            &TRACE.replace("00f067aa0ba902b7", "0000000000000000"),
            &TRACE.replace("-01", "-1"),
            &TRACE.replace("-01", "-0x"),
        ] {
            assert!(TraceContext::new(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn it_travels_in_meta() {
        let trace = TraceContext::new(TRACE).unwrap().with_tracestate("a=1").with_baggage("b=2");
        let mut meta = Meta::new();
        trace.write(&mut meta);
        assert_eq!(meta.len(), 3);
        assert_eq!(TraceContext::read(&meta), Some(trace));
        meta.remove(key::TRACEPARENT);
        assert_eq!(TraceContext::read(&meta), None);
    }
}
