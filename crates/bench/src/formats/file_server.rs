//! A web server for the files of one folder, which answers requests for ranges as servers of HTTP and of S3 do.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;

/// The server, which runs until the process ends.
pub(super) struct FileServer {
    address: SocketAddr,
}

impl FileServer {
    /// Starts it on a free port of this machine.
    pub(super) fn start(folder: PathBuf) -> io::Result<FileServer> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        thread::Builder::new().spawn(move || {
            for stream in listener.incoming().flatten() {
                let folder = folder.clone();
                // A connection that ends early is the client's to tell.
                drop(thread::Builder::new().spawn(move || drop(serve(&stream, &folder))));
            }
        })?;
        Ok(FileServer { address })
    }

    /// The URL of all files.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Answers the requests of a connection: GET of a file, by the last part of its URL.
fn serve(stream: &TcpStream, folder: &Path) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut lines = BufReader::new(stream).lines();
    while let Some(head) = lines.next().transpose()? {
        let target = head.split([' ', '?']).nth(1).unwrap_or_default();
        let path = folder.join(target.rsplit('/').next().unwrap_or_default());
        let (mut first, mut last) = (0, u64::MAX);
        for field in lines.by_ref() {
            let field = field?.to_ascii_lowercase();
            if let Some((from, to)) =
                field.strip_prefix("range: bytes=").and_then(|it| it.split_once('-'))
            {
                (first, last) = (from.parse().unwrap_or(0), to.parse().unwrap_or(u64::MAX));
            }
            if field.is_empty() {
                break;
            }
        }
        answer(stream, &path, first, last)?;
    }
    Ok(())
}

/// Sends some bytes of a file, with the same tag and time for all: files of a benchmark do not change.
fn answer(mut stream: &TcpStream, path: &Path, first: u64, last: u64) -> io::Result<()> {
    let Some(mut file) = File::open(path).ok().filter(|_| path.is_file()) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    };
    let size = file.metadata()?.len();
    let end = last.saturating_add(1).min(size).max(first);
    write!(
        stream,
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {first}-{}/{size}\r\nContent-Length: {}\r\n\
         ETag: \"1\"\r\nLast-Modified: Tue, 01 Dec 2026 00:00:00 GMT\r\n\r\n",
        end.saturating_sub(1),
        end - first
    )?;
    file.seek(SeekFrom::Start(first))?;
    // The kernel copies it.
    io::copy(&mut file.take(end - first), &mut stream).map(drop)
}
