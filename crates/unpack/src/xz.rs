//! xz, by liblzma.

use face::option::MEMORY;
use liblzma::stream::{Action, Error, Status, Stream};

use super::{Codec, Feed, Packed, Problem, Step};

pub(super) struct Xz {
    stream: Stream,
    memory_bytes_max: u64,
}

impl Xz {
    pub(super) fn new<E>(memory_bytes_max: usize) -> Result<Xz, Problem<E>> {
        let memory_bytes_max = memory_bytes_max as u64;
        Ok(Xz { stream: new_stream(memory_bytes_max)?, memory_bytes_max })
    }

    fn problem<E>(&self, error: Error) -> Problem<E> {
        match error {
            Error::MemLimit => Problem::Unsupported(format!(
                "compressed with a setting that needs more than {} bytes of memory; use more \
                 {MEMORY}, or unpack it first",
                self.memory_bytes_max
            )),
            Error::Mem => Problem::Unsupported("too large for the available memory".to_owned()),
            error => Problem::Corrupt(format!("different from its checksum or format ({error})")),
        }
    }
}

fn new_stream<E>(memory_bytes_max: u64) -> Result<Stream, Problem<E>> {
    Stream::new_stream_decoder(memory_bytes_max, 0)
        .map_err(|error| Problem::Unsupported(format!("impossible to unpack ({error})")))
}

impl<R: Packed> Codec<R> for Xz {
    fn begin(&mut self) -> Result<(), Problem<R::Error>> {
        if self.stream.total_in() > 0 {
            self.stream = new_stream(self.memory_bytes_max)?;
        }
        Ok(())
    }

    fn step(&mut self, feed: &mut Feed<R>, out: &mut [u8]) -> Result<Step, Problem<R::Error>> {
        let (read, made) = (self.stream.total_in(), self.stream.total_out());
        let status = self.stream.process(feed.bytes(), out, Action::Run);
        feed.consume((self.stream.total_in() - read) as usize);
        let made = (self.stream.total_out() - made) as usize;
        match status {
            Ok(status) => Ok(Step { made, ended: status == Status::StreamEnd }),
            Err(error) => Err(self.problem(error)),
        }
    }
}
