//! The functions that the host calls, and those it gives.

// Names that a host finds, and calls into it, are the one thing here that the language can't check.
#![allow(unsafe_code)]

use crate::protocol::Desk;
use std::cell::RefCell;

mod host {
    #[link(wasm_import_module = "env")]
    unsafe extern "C" {
        pub fn now() -> f64;
        pub fn report(text: *const u8, length: usize);
    }
}

/// Milliseconds by the host's clock.
pub fn now() -> f64 {
    // SAFETY: takes nothing and gives a number.
    unsafe { host::now() }
}

#[derive(Default)]
struct Memory {
    request: Vec<u8>,
    reply: String,
    desk: Desk,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// Where to write a request of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn reserve(length: usize) -> *mut u8 {
    MEMORY.with_borrow_mut(|memory| {
        memory.request.clear();
        memory.request.resize(length, 0);
        memory.request.as_mut_ptr()
    })
}

/// Answers the request; returns the length of the reply.
#[unsafe(no_mangle)]
pub extern "C" fn ask(length: usize) -> usize {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        // SAFETY: the text lives until the call is over.
        unsafe { host::report(text.as_ptr(), text.len()) }
    }));
    MEMORY.with_borrow_mut(|memory| {
        let request = &memory.request[..length.min(memory.request.len())];
        memory.reply = memory.desk.answer(request);
        memory.reply.len()
    })
}

/// Where the reply is.
#[unsafe(no_mangle)]
pub extern "C" fn reply() -> *const u8 {
    MEMORY.with_borrow(|memory| memory.reply.as_ptr())
}

/// Where a table of the last frame is.
#[unsafe(no_mangle)]
pub extern "C" fn part(which: u32) -> *const u8 {
    MEMORY.with_borrow_mut(|memory| memory.desk.part(which).0)
}

/// How many bytes it has.
#[unsafe(no_mangle)]
pub extern "C" fn part_len(which: u32) -> usize {
    MEMORY.with_borrow_mut(|memory| memory.desk.part(which).1)
}
