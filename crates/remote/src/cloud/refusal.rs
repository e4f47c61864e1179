//! Refusals of a store, and failures on the way to it, in words without secrets.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::address::Scheme;
use crate::patience::Fault;

/// The work that a store refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Read,
    List,
    Write,
}

/// A refusal of a store, which `object_store` hands on in its own errors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusal {
    /// The HTTP status; 0 without an answer.
    pub(crate) status: u16,
    /// The store's own code: `NoSuchKey`.
    pub(crate) code: String,
    /// The region of the bucket, of an answer that names it.
    pub(crate) region: Option<String>,
    /// The time after which the store wants to be asked again.
    pub(crate) after: Option<Duration>,
    /// Fault of the connection.
    pub(crate) connection: Option<String>,
    /// True where nobody gives credentials.
    pub(crate) is_without_credentials: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.connection {
            Some(connection) => f.write_str(connection),
            None => write!(f, "HTTP status {} {}", self.status, self.code),
        }
    }
}

impl Error for Refusal {}

impl Refusal {
    /// The refusal in an error of `object_store`.
    pub(crate) fn of(error: &object_store::Error) -> Option<&Refusal> {
        let mut inner: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(error) = inner {
            if let Some(refusal) = error.downcast_ref::<Refusal>() {
                return Some(refusal);
            }
            inner = error.source();
        }
        None
    }

    /// The code in the body of an answer, in XML or JSON.
    pub(crate) fn code(body: &str) -> String {
        let of_xml = body.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
        let code = of_xml.map_or("", |(code, _)| code.trim());
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '.';
        if code.len() <= 64 && code.chars().all(is_word) { code.to_owned() } else { String::new() }
    }

    /// True if there is no object, or no bucket.
    pub(crate) fn is_missing(&self) -> bool {
        self.status == 404
    }

    /// True if the store has judged the request and not done it: no lost answer, and no error of the store.
    pub(crate) fn is_about_the_request(&self) -> bool {
        matches!(self.status, 300..=499) && self.status != 408
    }

    /// True if another try may succeed.
    fn is_passing(&self) -> bool {
        matches!(self.status, 408 | 429 | 500 | 502..=504)
            || self.connection.is_some()
            || self.code == "SlowDown"
    }

    /// As a fault of a task in a store of this scheme.
    pub(crate) fn fault(&self, scheme: Scheme, task: Task) -> Fault {
        if self.is_without_credentials {
            return Fault::Final(without_credentials(scheme).to_owned());
        }
        if let Some(connection) = &self.connection {
            return Fault::Again(connection.clone(), None);
        }
        let bucket = scheme.bucket();
        let why = match (self.code.as_str(), self.status) {
            ("NoSuchBucket" | "ContainerNotFound", _) => format!("there is no such {bucket}"),
            (_, 404) if task == Task::Read => format!("the {bucket} has no such object"),
            (_, 404) => format!("there is no such {bucket}"),
            ("InvalidAccessKeyId", _) => "the store does not know the access key".to_owned(),
            ("SignatureDoesNotMatch" | "AuthenticationFailed", _) => {
                "the secret key does not belong to the access key or account".to_owned()
            }
            ("ExpiredToken" | "TokenRefreshRequired", _) => {
                "the credentials have expired".to_owned()
            }
            ("InvalidToken", _) => "the session token is not valid".to_owned(),
            ("RequestTimeTooSkewed", _) => "the clock of this machine is wrong".to_owned(),
            (_, 403) => format!("the credentials lack the right {}", task.right()),
            (_, 401) => "the store wants other credentials".to_owned(),
            (_, 300..=399) | ("AuthorizationHeaderMalformed", _) => match &self.region {
                Some(region) => format!("the {bucket} is in the region {region}; set AWS_REGION"),
                None => format!("the {bucket} is in another region; set AWS_REGION"),
            },
            (_, 429) | ("SlowDown", _) => "the store has too many requests".to_owned(),
            (_, 408 | 500..=504) => "the store has an error".to_owned(),
            _ => format!("the store does not {}", task.verb()),
        };
        let code = if self.code.is_empty() { String::new() } else { format!(", {}", self.code) };
        let why = format!("{why} (HTTP status {}{code})", self.status);
        if self.is_passing() { Fault::Again(why, self.after) } else { Fault::Final(why) }
    }
}

impl Task {
    fn right(self) -> &'static str {
        match self {
            Task::Read => "to read the object, or there is no such object",
            Task::List => "to list the objects",
            Task::Write => "to write the object",
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Task::Read => "send the object",
            Task::List => "list the objects",
            Task::Write => "take the object",
        }
    }
}

/// How credentials are named.
pub(crate) fn without_credentials(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::S3 => {
            "no credentials are found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE \
             for a profile of ~/.aws/credentials; for a public bucket set AWS_SKIP_SIGNATURE=true"
        }
        Scheme::Google => {
            "no credentials are found; set GOOGLE_APPLICATION_CREDENTIALS to the file of a service \
             account, or run gcloud auth application-default login; for a public bucket set \
             GOOGLE_SKIP_SIGNATURE=true"
        }
        Scheme::Azure => {
            "no credentials are found; set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY; for \
             a public container set AZURE_SKIP_SIGNATURE=true"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, code: &str) -> Refusal {
        Refusal { status, code: code.to_owned(), ..Refusal::default() }
    }

    #[test]
    fn refusals_are_sentences() {
        for (status, code, task, words) in [
            (
                404,
                "NoSuchBucket",
                Task::Read,
                "there is no such bucket (HTTP status 404, NoSuchBucket)",
            ),
            (404, "NoSuchKey", Task::Read, "the bucket has no such object"),
            (403, "AccessDenied", Task::List, "the credentials lack the right to list the objects"),
            (403, "SignatureDoesNotMatch", Task::Write, "the secret key does not belong"),
            (400, "ExpiredToken", Task::Read, "the credentials have expired"),
            (
                301,
                "PermanentRedirect",
                Task::Read,
                "the bucket is in another region; set AWS_REGION",
            ),
            (418, "", Task::Write, "the store does not take the object (HTTP status 418)"),
        ] {
            let Fault::Final(why) = refusal(status, code).fault(Scheme::S3, task) else {
                panic!("{code} is tried again");
            };
            assert!(why.contains(words), "{why}");
        }
        for (status, code) in [(503, "SlowDown"), (500, "InternalError"), (429, "")] {
            let fault = refusal(status, code).fault(Scheme::Azure, Task::Read);
            assert!(matches!(fault, Fault::Again(..)), "{code}");
        }
    }

    #[test]
    fn codes_are_words() {
        let code = |body: &str| Refusal::code(body);
        assert_eq!(code("<Error><Code>NoSuchKey</Code></Error>"), "NoSuchKey");
        assert_eq!(code("<Code>a secret</Code>"), "");
        assert_eq!(code("no XML"), "");
    }
}
