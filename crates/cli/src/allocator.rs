//! Tells the C library's allocator to give large buffers back when they are freed.
//!
//! By default it keeps ever larger ones for later, so that runs freed after a spill still count
//! as resident: at `--memory 128M` the process had 180 MiB, with a fixed limit 136 MiB. Other
//! allocators that were tried keep more (mimalloc 184 MiB). The fixed limit costs a system call
//! a buffer, and buffers live for a chunk or longer.

/// Allocations from this size on are mapped and unmapped one by one.
const MAP_FROM_BYTES: i32 = 128 << 10;

/// Fixes the limit. Call it before threads start.
pub(crate) fn give_back_large_buffers() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt takes two integers and changes a setting of the allocator; it is called
    // once, before any thread is started. A refusal (0) leaves the default, which is safe too.
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAP_FROM_BYTES);
    }
}
