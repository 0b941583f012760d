//! What a platform without `std` has to bring along: memory, a way to stop, a way to speak, and the entry point.
//!
//! This is the only unsafe code. The C library does no more here than start the program, end it and write to a
//! descriptor; on a board, the reset handler and a serial port do.

use alloc::format;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::panic::PanicInfo;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

/// All the memory that there is. The conversation takes a fraction of it.
const ARENA_BYTES: usize = 128 * 1024;

#[repr(align(16))]
struct Memory(UnsafeCell<[u8; ARENA_BYTES]>);

// SAFETY: the bytes are reached through the arena only, which gives no byte to two owners.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(UnsafeCell::new([0; ARENA_BYTES]));

#[global_allocator]
static ARENA: Arena = Arena { used: AtomicUsize::new(0) };

/// Hands out memory from its front and takes back only what it gave last, which does for a program that ends soon.
struct Arena {
    used: AtomicUsize,
}

// SAFETY: every block is aligned, lies within the memory, and is past all blocks that are in use: `used` moves forward
// by one compare-exchange per block, and back only over the block at the very end, when its owner gives it up.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let base = MEMORY.0.get().cast::<u8>();
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            // The end of the memory in use, rounded up to the alignment of the address.
            let padding = (base as usize + used).wrapping_neg() & (layout.align() - 1);
            let start = used + padding;
            let Some(end) = start.checked_add(layout.size()).filter(|&end| end <= ARENA_BYTES) else {
                return ptr::null_mut();
            };
            match self.used.compare_exchange_weak(used, end, Ordering::Relaxed, Ordering::Relaxed) {
                // SAFETY: `start` is within the memory.
                Ok(_) => return unsafe { base.add(start) },
                Err(now) => used = now,
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let start = block as usize - MEMORY.0.get() as usize;
        // If it is not the last block, it stays where it is, unused.
        let _ = self.used.compare_exchange(start + layout.size(), start, Ordering::Relaxed, Ordering::Relaxed);
    }
}

#[link(name = "c")]
unsafe extern "C" {
    fn write(descriptor: i32, bytes: *const u8, count: usize) -> isize;
    fn abort() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: it takes nothing and does not return.
    unsafe { abort() }
}

/// The compiled `alloc` of a hosted target can unwind and names this symbol and the next. A panic never does so here:
/// they are there for the linker, and nothing calls them. A board's target needs neither.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() -> ! {
    // SAFETY: as above.
    unsafe { abort() }
}

#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    let (code, line) = match crate::measure() {
        Ok(measured) if measured == "21.5 °C" => (0, format!("measured {measured}\n")),
        Ok(measured) => (1, format!("wrong: {measured}\n")),
        Err(error) => (1, format!("failed: {error}\n")),
    };
    // SAFETY: the bytes are valid for as long as the call takes. A short write loses words, and nothing else.
    unsafe { write(1, line.as_ptr(), line.len()) };
    code
}
