//! The deterministic runtime.
