//! zstd, by the C library.

use face::option::MEMORY;
use zstd::stream::raw::{DParameter, Decoder, Operation};

use super::{Codec, Feed, Packed, Problem, Step};

/// Smallest and largest limit of a window.
const WINDOW_LOG_MIN: u32 = 10;
const WINDOW_LOG_MAX: u32 = 31;

pub(super) struct Zstd {
    decoder: Decoder<'static>,
    window_bytes_max: u64,
}

impl Zstd {
    pub(super) fn new<E>(memory_bytes_max: usize) -> Result<Zstd, Problem<E>> {
        let log = memory_bytes_max.max(1).ilog2().clamp(WINDOW_LOG_MIN, WINDOW_LOG_MAX);
        let window_bytes_max = 1 << log;
        let decoder = Decoder::new().and_then(|mut decoder| {
            decoder.set_parameter(DParameter::WindowLogMax(log))?;
            Ok(decoder)
        });
        let decoder = decoder
            .map_err(|error| Problem::Unsupported(format!("impossible to unpack ({error})")))?;
        Ok(Zstd { decoder, window_bytes_max })
    }
}

impl<R: Packed> Codec<R> for Zstd {
    fn begin(&mut self) -> Result<(), Problem<R::Error>> {
        Ok(())
    }

    fn step(&mut self, feed: &mut Feed<R>, out: &mut [u8]) -> Result<Step, Problem<R::Error>> {
        let status = self.decoder.run_on_buffers(feed.bytes(), out).map_err(|error| {
            let text = error.to_string();
            // The library's own words: ZSTD_error_frameParameter_windowTooLarge.
            if text.contains("too much memory") {
                return Problem::Unsupported(format!(
                    "compressed with a window of more than {} bytes (zstd --long or --ultra); use \
                     more {MEMORY}, or unpack it first",
                    self.window_bytes_max
                ));
            }
            Problem::Corrupt(format!("different from its checksum or format ({text})"))
        })?;
        feed.consume(status.bytes_read);
        Ok(Step { made: status.bytes_written, ended: status.remaining == 0 })
    }
}
