//! Requests of `object_store` by the same client of HTTP as other inputs: the same certificates, proxies and times.
//!
//! A request is sent, and its answer is read, by the thread that waits for it: no thread and no driver of events is
//! needed. Answers that are no success become a [`Refusal`], which keeps what messages are made of.

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body::{Body, Frame, SizeHint};
use locks::Mutex;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
use ureq::http::{HeaderMap, HeaderValue, Method, Request, Response};
use ureq::{Agent, BodyReader};

use super::refusal::Refusal;
use crate::answer::{content_length, retry_after, text};
use crate::client::{agent, broken, fault};
use crate::patience::Fault;

/// Bytes of an answer that are handed on at once.
const CHUNK_BYTES: usize = 256 << 10;
/// Most bytes of an answer that says why.
const REASON_BYTES: u64 = 64 << 10;
/// How long a machine of a cloud is given to name itself.
const METADATA_TIMEOUT: Duration = Duration::from_secs(2);
/// Servers that give credentials to the machines of a cloud, and to nobody else.
const METADATA_HOSTS: [&str; 4] =
    ["169.254.169.254", "169.254.170.2", "metadata.google.internal", "metadata"];

/// Makes the client of a store.
#[derive(Debug)]
pub(crate) struct Connector {
    /// True if an upload must not replace an object.
    pub(crate) creates: bool,
}

#[derive(Debug)]
struct Service {
    agent: Agent,
    creates: bool,
    allows_http: bool,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let agent = agent().map_err(|error| object_store::Error::Generic {
            store: "HTTP",
            source: error.into(),
        })?;
        let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp);
        let allows_http = allows_http.as_deref() == Some("true");
        Ok(HttpClient::new(Service { agent, creates: self.creates, allows_http }))
    }
}

impl HttpService for Service {
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> BoxFuture<'b, Result<HttpResponse, HttpError>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.send(request).map_err(|refusal| error(*refusal)) })
    }
}

impl Service {
    fn send(&self, request: HttpRequest) -> Result<HttpResponse, Box<Refusal>> {
        let (mut parts, body) = request.into_parts();
        let is_metadata = parts.uri.host().is_some_and(|host| METADATA_HOSTS.contains(&host));
        if !is_metadata && !self.allows_http && parts.uri.scheme_str() == Some("http") {
            let why = "the server is named by http://, which AWS_ALLOW_HTTP, AZURE_ALLOW_HTTP or \
                       GOOGLE_ALLOW_HTTP=true allows";
            return Err(not_connected(why.to_owned()));
        }
        let completes = parts.method == Method::POST
            && parts.uri.query().is_some_and(|query| query.contains("uploadId="));
        if self.creates && completes {
            // Not one of the headers that a signature has to cover.
            parts.headers.insert("if-none-match", HeaderValue::from_static("*"));
        }
        let answer = self.answer(Request::from_parts(parts, ()), body, is_metadata);
        let answer = match answer {
            Ok(answer) if answer.status().is_success() => answer,
            // Elsewhere than in a cloud there is no such server.
            _ if is_metadata => {
                return Err(Box::new(Refusal {
                    is_without_credentials: true,
                    ..Refusal::default()
                }));
            }
            Ok(answer) => return Err(Box::new(refusal(answer))),
            Err(refusal) => return Err(refusal),
        };
        let (parts, body) = answer.into_parts();
        let left = content_length(&parts.headers);
        let answer = Answer { reader: Mutex::new(body.into_reader()), left };
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(answer)))
    }

    fn answer(
        &self,
        request: Request<()>,
        body: HttpRequestBody,
        is_metadata: bool,
    ) -> Result<Response<ureq::Body>, Box<Refusal>> {
        let failed = |error: ureq::Error| match fault(&error) {
            Fault::Again(why, _) | Fault::Final(why) => not_connected(why),
        };
        if is_metadata {
            let is_disabled = std::env::var("AWS_EC2_METADATA_DISABLED");
            if is_disabled.is_ok_and(|value| value.eq_ignore_ascii_case("true")) {
                return Err(not_connected(String::new()));
            }
            let config = self.agent.configure_request(request);
            let request = config.timeout_global(Some(METADATA_TIMEOUT)).build();
            return self.agent.run(request).map_err(failed);
        }
        if matches!(*request.method(), Method::GET | Method::HEAD | Method::DELETE) {
            return self.agent.run(request).map_err(failed);
        }
        let bytes = collected(body);
        let (parts, ()) = request.into_parts();
        self.agent.run(Request::from_parts(parts, &bytes[..])).map_err(failed)
    }
}

/// The bytes of a request: those of a part are one piece, and not copied.
fn collected(mut body: HttpRequestBody) -> Bytes {
    let mut pieces: Vec<Bytes> = Vec::new();
    let mut context = Context::from_waker(std::task::Waker::noop());
    while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) {
        pieces.extend(frame.into_data());
    }
    match pieces.len() {
        1 => pieces.remove(0),
        _ => pieces.concat().into(),
    }
}

fn not_connected(why: String) -> Box<Refusal> {
    Box::new(Refusal { connection: Some(why), ..Refusal::default() })
}

/// The refusal that an answer is.
fn refusal(answer: Response<ureq::Body>) -> Refusal {
    let (parts, body) = answer.into_parts();
    let mut reason = String::new();
    // A refusal without its reason is one too.
    let _ = body.into_reader().take(REASON_BYTES).read_to_string(&mut reason);
    let of_header = || text(&parts.headers, "x-ms-error-code");
    let code = Some(Refusal::code(&reason)).filter(|code| !code.is_empty()).or_else(of_header);
    Refusal {
        status: parts.status.as_u16(),
        code: code.unwrap_or_default(),
        region: region(&parts.headers),
        after: retry_after(&parts.headers),
        ..Refusal::default()
    }
}

/// The region of the bucket, which becomes a part of a host's name.
fn region(headers: &HeaderMap) -> Option<String> {
    let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    text(headers, "x-amz-bucket-region").filter(|region| region.chars().all(is_valid))
}

fn error(refusal: Refusal) -> HttpError {
    // `object_store` would try again by itself what it knows the kind of.
    HttpError::new(HttpErrorKind::Unknown, refusal)
}

/// The body of an answer.
struct Answer {
    /// Never contended: a body is read by one thread at a time.
    reader: Mutex<BodyReader<'static>>,
    left: Option<u64>,
}

impl Answer {
    fn chunk(&mut self) -> io::Result<Bytes> {
        let size = self.left.map_or(CHUNK_BYTES, |left| CHUNK_BYTES.min(left.max(1) as usize));
        let mut chunk = vec![0; size];
        let reader = self.reader.get_mut();
        let mut got = 0;
        while got < size {
            match reader.read(&mut chunk[got..])? {
                0 => break,
                read => got += read,
            }
        }
        chunk.truncate(got);
        self.left = self.left.map(|left| left.saturating_sub(got as u64));
        Ok(chunk.into())
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        Poll::Ready(match self.chunk() {
            Ok(bytes) if bytes.is_empty() => None,
            Ok(bytes) => Some(Ok(Frame::data(bytes))),
            Err(source) => match broken(&source) {
                Fault::Again(why, _) | Fault::Final(why) => Some(Err(error(*not_connected(why)))),
            },
        })
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
