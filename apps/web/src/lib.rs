//! ripstop for the browser: the engine behind a handful of functions that any WebAssembly host can call.
//!
//! Requests and replies are JSON ([`protocol`]); large tables are read from memory. So nothing is generated between the two
//! languages, and the page needs no other tool to be built.
//!
//! | function | |
//! |---|---|
//! | `reserve(length) → address` | where to write a request of so many bytes |
//! | `ask(length) → length` | answers it; returns the length of the reply |
//! | `reply() → address` | where the reply is |
//! | `part(which) → address`, `part_len(which) → bytes` | tables of the last `frame`, see [`protocol::Desk::part`] |
//!
//! Memory may grow in every call, and addresses are good until the next one. The host gives `env.now() → milliseconds` and
//! `env.report(address, length)`, which is told the text of a panic.

pub mod clock;
pub mod protocol;

#[cfg(target_arch = "wasm32")]
mod exports;
