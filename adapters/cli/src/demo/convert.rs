//! A resource template: conversion of units.

use windlass::RpcError;
use windlass::model::{CompleteParams, CompleteResult, ReadResourceResult, ResourceTemplate, TextResourceContents};
use windlass::server::HandlerError;
use windlass_host::ResourceRequest;

pub(crate) const TEMPLATE: &str = "demo://convert/{value}/{from}/{to}";

/// A unit: what it measures, and how its numbers become those of the first unit of that kind.
struct Unit {
    name: &'static str,
    measures: &'static str,
    factor: f64,
    offset: f64,
}

const fn unit(name: &'static str, measures: &'static str, factor: f64) -> Unit {
    Unit { name, measures, factor, offset: 0.0 }
}

const UNITS: [Unit; 22] = [
    unit("m", "length", 1.0),
    unit("mm", "length", 0.001),
    unit("cm", "length", 0.01),
    unit("km", "length", 1_000.0),
    unit("in", "length", 0.0254),
    unit("ft", "length", 0.3048),
    unit("yd", "length", 0.9144),
    unit("mi", "length", 1_609.344),
    unit("nmi", "length", 1_852.0),
    unit("kg", "mass", 1.0),
    unit("g", "mass", 0.001),
    unit("t", "mass", 1_000.0),
    unit("oz", "mass", 0.028_349_523_125),
    unit("lb", "mass", 0.453_592_37),
    unit("K", "temperature", 1.0),
    Unit { name: "C", measures: "temperature", factor: 1.0, offset: 273.15 },
    Unit { name: "F", measures: "temperature", factor: 5.0 / 9.0, offset: 459.67 * 5.0 / 9.0 },
    unit("B", "data", 1.0),
    unit("kB", "data", 1_000.0),
    unit("MB", "data", 1_000_000.0),
    unit("KiB", "data", 1_024.0),
    unit("MiB", "data", 1_048_576.0),
];

pub(crate) fn definition() -> ResourceTemplate {
    ResourceTemplate::new(TEMPLATE, "convert")
        .with_title("Unit conversion")
        .with_description("A value in another unit of length, mass, temperature or data")
        .with_mime_type("text/plain")
}

pub(crate) fn read(request: &ResourceRequest) -> Result<ReadResourceResult, HandlerError> {
    let variable = |name: &str| request.variables.get(name).map(String::as_str).unwrap_or_default();
    let (value, from, to) = (variable("value"), variable("from"), variable("to"));
    let converted = convert(value, from, to).map_err(RpcError::invalid_params)?;
    let contents = TextResourceContents::new(&request.uri, format!("{value} {from} = {converted} {to}"));
    Ok(ReadResourceResult::new(vec![contents.with_mime_type("text/plain").into()]))
}

pub(crate) fn complete(asked: &CompleteParams) -> CompleteResult {
    super::completions(asked, UNITS.iter().map(|unit| unit.name))
}

fn convert(value: &str, from: &str, to: &str) -> Result<f64, String> {
    let number: f64 = value.parse().map_err(|_| format!("{value:?} is not a number"))?;
    let find = |name: &str| {
        let names = || UNITS.iter().map(|unit| unit.name).collect::<Vec<_>>().join(", ");
        UNITS.iter().find(|unit| unit.name == name).ok_or_else(|| format!("no unit {name:?}; there are {}", names()))
    };
    let (from, to) = (find(from)?, find(to)?);
    if from.measures != to.measures {
        return Err(format!("{} is a unit of {}, {} one of {}", from.name, from.measures, to.name, to.measures));
    }
    let exact = (number * from.factor + from.offset - to.offset) / to.factor;
    Ok(rounded(exact))
}

/// Floating point leaves noise behind the tenth digit or so; nobody measures that exactly.
fn rounded(exact: f64) -> f64 {
    format!("{exact:.9e}").parse().unwrap_or(exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_convert() {
        assert_eq!(convert("1", "mi", "km"), Ok(1.609344));
        assert_eq!(convert("12", "in", "ft"), Ok(1.0));
        assert_eq!(convert("-40", "C", "F"), Ok(-40.0));
        assert_eq!(convert("212", "F", "C"), Ok(100.0));
        assert_eq!(convert("2", "MiB", "KiB"), Ok(2_048.0));
    }

    #[test]
    fn what_does_not_convert_is_explained() {
        assert!(convert("x", "m", "km").unwrap_err().contains("not a number"));
        assert!(convert("1", "m", "parsec").unwrap_err().contains("nmi"));
        assert!(convert("1", "m", "kg").unwrap_err().contains("length"));
    }
}
