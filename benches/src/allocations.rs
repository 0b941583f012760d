//! An allocator that counts while it is asked to, and costs next to nothing otherwise.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

static COUNTING: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicI64 = AtomicI64::new(0);

/// From now on everything is counted. What was allocated before and is freed later counts as less than nothing, so only
/// differences mean something.
pub(crate) fn start_counting() {
    COUNTING.store(true, Ordering::Relaxed);
}

/// How many allocations there were.
pub(crate) fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// How many bytes are allocated and not freed.
pub(crate) fn live_bytes() -> i64 {
    LIVE.load(Ordering::Relaxed)
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn note(allocations: u64, bytes: i64) {
    if COUNTING.load(Ordering::Relaxed) {
        COUNT.fetch_add(allocations, Ordering::Relaxed);
        LIVE.fetch_add(bytes, Ordering::Relaxed);
    }
}

// SAFETY: everything is passed on to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(1, layout.size() as i64);
        // SAFETY: the caller's promises are those that the system's allocator wants.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(1, layout.size() as i64);
        // SAFETY: the caller's promises are those that the system's allocator wants.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(0, -(layout.size() as i64));
        // SAFETY: the pointer came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(1, size as i64 - layout.size() as i64);
        // SAFETY: the pointer came from the system's allocator, and the caller's promises are those that it wants.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
