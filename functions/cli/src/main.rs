//! outrigger
fn main() {}
