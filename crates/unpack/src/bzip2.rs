//! bzip2, by libbz2-rs-sys.

use bzip2::{Decompress, Status};

use super::{Codec, Feed, Packed, Problem, Step};

pub(super) struct Bzip2 {
    decoder: Decompress,
}

impl Bzip2 {
    pub(super) fn new() -> Bzip2 {
        Bzip2 { decoder: Decompress::new(false) }
    }
}

impl<R: Packed> Codec<R> for Bzip2 {
    fn begin(&mut self) -> Result<(), Problem<R::Error>> {
        if self.decoder.total_in() > 0 {
            self.decoder = Decompress::new(false);
        }
        Ok(())
    }

    fn step(&mut self, feed: &mut Feed<R>, out: &mut [u8]) -> Result<Step, Problem<R::Error>> {
        let (read, made) = (self.decoder.total_in(), self.decoder.total_out());
        let status = self.decoder.decompress(feed.bytes(), out);
        feed.consume((self.decoder.total_in() - read) as usize);
        let made = (self.decoder.total_out() - made) as usize;
        match status {
            Ok(Status::MemNeeded) => {
                Err(Problem::Unsupported("too large for the available memory".to_owned()))
            }
            Ok(status) => Ok(Step { made, ended: status == Status::StreamEnd }),
            Err(_) => Err(Problem::Corrupt("different from its checksum or format".to_owned())),
        }
    }
}
