//! A tool that takes its time, tells how far it is, and stops when nobody wants its result any more.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use windlass::Json;
use windlass::model::{CallToolResult, Tool, ToolAnnotations};
use windlass::server::HandlerError;
use windlass_host::Context;

/// A demo should not keep anybody waiting for longer than these allow: a hundred seconds.
const MOST_STEPS: u32 = 100;
const MOST_MILLISECONDS: u64 = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    #[serde(default = "five")]
    steps: u32,
    #[serde(default = "two_hundred")]
    milliseconds: u64,
}

fn five() -> u32 {
    5
}

fn two_hundred() -> u64 {
    200
}

/// Arguments that make sense.
pub(crate) struct Plan {
    pub(crate) steps: u32,
    pub(crate) interval: Duration,
}

pub(crate) fn definition() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "steps": {
                "type": "integer", "minimum": 1, "maximum": MOST_STEPS, "default": five(),
                "description": "How many steps to count",
            },
            "milliseconds": {
                "type": "integer", "minimum": 0, "maximum": MOST_MILLISECONDS, "default": two_hundred(),
                "description": "How long each step takes",
            },
        },
        "additionalProperties": false,
    });
    Tool::new("countdown", Json::from(schema))
        .with_title("Countdown")
        .with_description("Counts down, and reports its progress at every step")
        .with_annotations(ToolAnnotations::new().with_read_only_hint(true).with_open_world_hint(false))
}

impl Arguments {
    pub(crate) fn plan(&self) -> Result<Plan, HandlerError> {
        if !(1..=MOST_STEPS).contains(&self.steps) {
            return Err(HandlerError::failed(format!("steps must be from 1 to {MOST_STEPS}, not {}", self.steps)));
        }
        if self.milliseconds > MOST_MILLISECONDS {
            let given = self.milliseconds;
            return Err(HandlerError::failed(format!("milliseconds must be at most {MOST_MILLISECONDS}, not {given}")));
        }
        Ok(Plan { steps: self.steps, interval: Duration::from_millis(self.milliseconds) })
    }
}

impl Plan {
    /// Tells that a step is done. Fails if the rest is not wanted any more.
    pub(crate) fn report(&self, context: &Context, step: u32) -> Result<(), HandlerError> {
        if context.is_cancelled() {
            return Err(HandlerError::failed(format!("stopped after {step} of {} steps", self.steps)));
        }
        let message = match self.steps - step {
            0 => "lift-off".into(),
            left => format!("{left} to go"),
        };
        context.progress(f64::from(step), Some(f64::from(self.steps)), Some(&message));
        Ok(())
    }

    pub(crate) fn done(&self) -> CallToolResult {
        let total = self.interval * self.steps;
        CallToolResult::text(format!("lift-off after {} steps in {:.1} s", self.steps, total.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Result<Plan, HandlerError> {
        serde_json::from_str::<Arguments>(text).unwrap().plan()
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert_eq!(plan("{}").unwrap().steps, 5);
        assert!(plan(r#"{"steps":0}"#).is_err());
        assert!(plan(r#"{"steps":101}"#).is_err());
        assert!(plan(r#"{"milliseconds":1001}"#).is_err());
    }
}
