//! The command line: the same use cases as the functions, driven from a terminal.
//!
//! It reads arguments and files, asks the shared crates, and renders what they answer. Nothing is decided here.

mod args;
mod html;
mod terminal;
#[cfg(test)]
mod testing;
mod text;
mod view;
mod wire;

fn main() {}
