//! A tool that returns an image: numbers as bars.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;
use windlass::Json;
use windlass::model::{CallToolResult, ContentBlock, Tool};
use windlass::server::HandlerError;

use super::png::{self, Color};

/// More bars than this are not told apart any more.
const MOST_VALUES: usize = 200;
const HEIGHT: u32 = 100;
const BAR: u32 = 8;
const GAP: u32 = 2;
const COLORS: [Color; 2] = [[0xFF, 0xFF, 0xFF], [0x1F, 0x5F, 0x8B]];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    values: Vec<f64>,
}

pub(crate) fn definition() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "values": {
                "type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": MOST_VALUES,
                "description": "The numbers to draw, from left to right",
            },
        },
        "required": ["values"],
        "additionalProperties": false,
    });
    Tool::new("chart", Json::from(schema))
        .with_title("Bar chart")
        .with_description("Draws numbers as a bar chart, a PNG image")
        .with_annotations(super::pure())
}

pub(crate) fn run(arguments: &Arguments) -> Result<CallToolResult, HandlerError> {
    let values = &arguments.values;
    if values.is_empty() || values.len() > MOST_VALUES {
        return Err(HandlerError::failed(format!("values must be 1 to {MOST_VALUES} numbers, not {}", values.len())));
    }
    let (lowest, highest) = range(values);
    let text = format!("{} values from {lowest} to {highest}", values.len());
    Ok(CallToolResult::text(text).with_content(ContentBlock::image(STANDARD.encode(draw(values)), "image/png")))
}

fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

/// The bars grow from the line of zero, which is always in the picture, upwards and downwards.
fn draw(values: &[f64]) -> Vec<u8> {
    let (lowest, highest) = range(values);
    let (lowest, highest) = (lowest.min(0.0), highest.max(0.0));
    let row = |value: f64| {
        let share = if highest > lowest { (highest - value) / (highest - lowest) } else { 1.0 };
        (share * f64::from(HEIGHT - 1)).round() as u32
    };
    let zero = row(0.0);
    let bars: Vec<_> = values.iter().map(|value| row(*value).min(zero)..=row(*value).max(zero)).collect();
    let step = BAR + GAP;
    png::encode(bars.len() as u32 * step + GAP, HEIGHT, COLORS, |column, row| {
        let Some(offset) = column.checked_sub(GAP) else { return row == zero };
        let in_bar = offset % step < BAR && bars.get((offset / step) as usize).is_some_and(|bar| bar.contains(&row));
        in_bar || row == zero
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_numbers_make_a_picture() {
        for values in [&[0.0][..], &[1.0, -1.0], &[f64::MAX, f64::MIN], &[5.0; MOST_VALUES]] {
            assert!(draw(values).starts_with(b"\x89PNG"), "{values:?}");
        }
        assert!(run(&Arguments { values: Vec::new() }).is_err());
        assert!(run(&Arguments { values: vec![1.0; MOST_VALUES + 1] }).is_err());
    }
}
