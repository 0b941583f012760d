//! T
fn main() {}
