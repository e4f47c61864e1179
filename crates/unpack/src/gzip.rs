//! gzip, by zlib-rs: header, checksum and size are checked by it.

use flate2::{Decompress, FlushDecompress, Status};

use super::{Codec, Feed, Packed, Problem, Step};

/// Largest window of the format: 32 KiB.
const WINDOW_BITS: u8 = 15;

pub(super) struct Gzip {
    inflate: Decompress,
}

impl Gzip {
    pub(super) fn new() -> Gzip {
        Gzip { inflate: Decompress::new_gzip(WINDOW_BITS) }
    }
}

impl<R: Packed> Codec<R> for Gzip {
    fn begin(&mut self) -> Result<(), Problem<R::Error>> {
        // Its own reset would leave gzip for zlib.
        if self.inflate.total_in() > 0 {
            self.inflate = Decompress::new_gzip(WINDOW_BITS);
        }
        Ok(())
    }

    fn step(&mut self, feed: &mut Feed<R>, out: &mut [u8]) -> Result<Step, Problem<R::Error>> {
        let (read, made) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(feed.bytes(), out, FlushDecompress::None);
        feed.consume((self.inflate.total_in() - read) as usize);
        let made = (self.inflate.total_out() - made) as usize;
        match status {
            Ok(status) => Ok(Step { made, ended: status == Status::StreamEnd }),
            Err(error) => Err(Problem::Corrupt(match error.message() {
                Some(message) => format!("different from its checksum or format ({message})"),
                None => "different from its checksum or format".to_owned(),
            })),
        }
    }
}
