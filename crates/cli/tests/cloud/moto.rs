//! A server of S3 in Python.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// It ends when its standard input does, also when the tests are killed.
const SCRIPT: &str = "import logging, sys\n\
    from moto.server import ThreadedMotoServer\n\
    logging.getLogger('werkzeug').setLevel(logging.ERROR)\n\
    server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)\n\
    server.start()\n\
    print(server.get_host_and_port()[1], flush=True)\n\
    sys.stdin.read()\n";

/// A bucket of its own on the shared server.
pub(super) struct Bucket {
    address: String,
    pub(super) name: String,
}

struct Moto {
    _process: Child,
    address: String,
}

fn start() -> Option<Moto> {
    let python = std::env::var("INRUSH_TEST_PYTHON").unwrap_or("python3".to_owned());
    let mut command = Command::new(python);
    command.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.stderr(Stdio::null()).spawn().ok()?;
    let mut line = String::new();
    BufReader::new(process.stdout.take()?).read_line(&mut line).ok()?;
    let port: u16 = line.trim().parse().ok()?;
    Some(Moto { _process: process, address: format!("127.0.0.1:{port}") })
}

impl Bucket {
    /// None where there is no Python with the package moto, which is said.
    pub(super) fn new(name: &str) -> Option<Bucket> {
        static MOTO: OnceLock<Option<Moto>> = OnceLock::new();
        let Some(moto) = MOTO.get_or_init(start) else {
            eprintln!("skipped: INRUSH_TEST_PYTHON names no Python with moto[server]");
            return None;
        };
        let bucket = Bucket { address: moto.address.clone(), name: name.to_owned() };
        bucket.request("PUT", "", b"");
        Some(bucket)
    }

    pub(super) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn url(&self, key: &str) -> String {
        format!("s3://{}/{key}", self.name)
    }

    pub(super) fn put(&self, key: &str, body: impl AsRef<[u8]>) {
        self.request("PUT", key, body.as_ref());
    }

    /// The names of all objects.
    pub(super) fn keys(&self) -> Vec<String> {
        let listed = self.request("GET", "?list-type=2", b"");
        listed
            .split("<Key>")
            .skip(1)
            .map(|part| part[..part.find('<').unwrap()].to_owned())
            .collect()
    }

    /// True if an upload was neither finished nor ended.
    pub(super) fn has_uploads(&self) -> bool {
        self.request("GET", "?uploads", b"").contains("<UploadId>")
    }

    #[track_caller]
    fn request(&self, method: &str, target: &str, body: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "{method} /{}/{target} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.name,
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with("HTTP/1.1 2"), "{method} {target}: {answer}");
        answer
    }
}
