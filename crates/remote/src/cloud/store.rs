//! A bucket of an object store, as the environment says that it is reached.

use std::future::Future;
use std::io;
use std::sync::Arc;

use locks::{Mutex, RwLock};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};

use super::address::{Address, Scheme};
use super::profile::{self, variable};
use super::refusal::{Refusal, Task, without_credentials};
use super::service::Connector;
use crate::patience::{Fault, Patience};

/// The stores that were opened: one for all objects of a bucket.
static OPENED: Mutex<Vec<Arc<Store>>> = Mutex::new(Vec::new());

/// A bucket.
#[derive(Debug)]
pub(crate) struct Store {
    scheme: Scheme,
    bucket: String,
    /// True if its uploads do not replace objects.
    creates: bool,
    clients: RwLock<Clients>,
}

/// Two views of the same client.
#[derive(Clone)]
pub(crate) struct Clients {
    pub(crate) objects: Arc<dyn ObjectStore>,
    pub(crate) uploads: Arc<dyn MultipartStore>,
    region: Option<String>,
}

impl std::fmt::Debug for Clients {
    /// Without the configuration, which has credentials.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clients").field("region", &self.region).finish_non_exhaustive()
    }
}

impl Store {
    /// The bucket of an address. Asks nobody.
    ///
    /// Errors: what is wrong with the environment, without its secrets.
    pub(crate) fn of(address: &Address, creates: bool) -> Result<Arc<Store>, String> {
        let mut opened = OPENED.lock();
        let is_it = |store: &&Arc<Store>| {
            (store.scheme, &store.bucket, store.creates)
                == (address.scheme, &address.bucket, creates)
        };
        if let Some(store) = opened.iter().find(is_it) {
            return Ok(Arc::clone(store));
        }
        let clients = RwLock::new(Clients::of(address.scheme, &address.bucket, creates, None)?);
        let (scheme, bucket) = (address.scheme, address.bucket.clone());
        let store = Arc::new(Store { scheme, bucket, creates, clients });
        opened.push(Arc::clone(&store));
        Ok(store)
    }

    /// Does a task, several times if need be.
    ///
    /// Errors: those of the last try; the end was asked for.
    pub(crate) fn run<T, F>(
        &self,
        task: Task,
        mut patience: Patience<'_>,
        mut ask: impl FnMut(Clients) -> F,
    ) -> io::Result<T>
    where
        F: Future<Output = object_store::Result<T>>,
    {
        loop {
            patience.check()?;
            match self.try_run(task, &mut ask) {
                Ok(done) => return Ok(done),
                Err(fault) => patience.wait(fault, false)?,
            }
        }
    }

    /// Does a task once.
    pub(crate) fn try_run<T, F>(
        &self,
        task: Task,
        ask: impl FnOnce(Clients) -> F,
    ) -> Result<T, Fault>
    where
        F: Future<Output = object_store::Result<T>>,
    {
        let clients = self.clients.read().clone();
        let region = clients.region.clone();
        wait(ask(clients))?.map_err(|error| self.fault(&error, task, region))
    }

    /// The fault of an error. A bucket in another region is asked there from now on.
    pub(crate) fn fault(
        &self,
        error: &object_store::Error,
        task: Task,
        region: Option<String>,
    ) -> Fault {
        let Some(refusal) = Refusal::of(error) else { return Fault::Final(innermost(error)) };
        if self.scheme == Scheme::S3 && refusal.region.is_some() && refusal.region != region {
            let clients =
                Clients::of(self.scheme, &self.bucket, self.creates, refusal.region.clone());
            if let Ok(clients) = clients {
                *self.clients.write() = clients;
                return Fault::Again("the bucket is in another region".to_owned(), None);
            }
        }
        refusal.fault(self.scheme, task)
    }
}

/// The result of a future. It is done by this thread: nothing in it waits for another one.
pub(crate) fn wait<F: Future>(future: F) -> Result<F::Output, Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| Fault::Final(format!("beginning a request: {error}")))?;
    Ok(runtime.block_on(future))
}

/// The name of an object as the client wants it.
///
/// Errors: a name that stores have and the client does not.
pub(crate) fn path(key: &str) -> Result<Path, String> {
    let failed = || {
        "the name of an object cannot have an empty part, . or .. between two slashes".to_owned()
    };
    // The client would leave out a slash at an end.
    Path::parse(key).ok().filter(|path| path.as_ref() == key && !key.is_empty()).ok_or_else(failed)
}

/// The cause of an error, which has no address of a request.
fn innermost(error: &object_store::Error) -> String {
    let mut inner: &(dyn std::error::Error + 'static) = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

/// No tries but ours.
fn once() -> RetryConfig {
    let retry_timeout = std::time::Duration::ZERO;
    RetryConfig { backoff: BackoffConfig::default(), max_retries: 0, retry_timeout }
}

impl Clients {
    fn of(
        scheme: Scheme,
        bucket: &str,
        creates: bool,
        region: Option<String>,
    ) -> Result<Clients, String> {
        match scheme {
            Scheme::S3 => Clients::of_s3(bucket, creates, region),
            Scheme::Google => {
                let mut builder = GoogleCloudStorageBuilder::from_env()
                    .with_bucket_name(bucket)
                    .with_retry(once())
                    .with_http_connector(Connector { creates: false });
                if variable("GOOGLE_ALLOW_HTTP").is_none() && is_plain("GOOGLE_BASE_URL") {
                    builder = builder.with_config("allow_http".parse().map_err(|_| "")?, "true");
                }
                Ok(Clients::new(builder.build().map_err(|error| innermost(&error))?, None))
            }
            Scheme::Azure => {
                let mut builder = MicrosoftAzureBuilder::from_env()
                    .with_container_name(bucket)
                    .with_retry(once())
                    .with_http_connector(Connector { creates: false });
                let is_emulator = builder.get_config_value(&AzureConfigKey::UseEmulator);
                let is_emulator = is_emulator.as_deref() == Some("true");
                let account = builder.get_config_value(&AzureConfigKey::AccountName);
                if account.is_none() && !is_emulator {
                    return Err(without_credentials(scheme).to_owned());
                }
                let is_plain = is_emulator || is_plain("AZURE_STORAGE_ENDPOINT");
                if variable("AZURE_ALLOW_HTTP").is_none() && is_plain {
                    builder = builder.with_allow_http(true);
                }
                Ok(Clients::new(builder.build().map_err(|error| innermost(&error))?, None))
            }
        }
    }

    fn of_s3(bucket: &str, creates: bool, region: Option<String>) -> Result<Clients, String> {
        let mut builder = AmazonS3Builder::new();
        // An empty value stands for none, as programs that set variables have it.
        for (name, value) in std::env::vars_os().filter(|(_, value)| !value.is_empty()) {
            if let (Some(name), Some(value)) = (name.to_str(), value.to_str())
                && name.starts_with("AWS_")
                && let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>()
            {
                builder = builder.with_config(key, value);
            }
        }
        let is_anonymous = variable("AWS_SKIP_SIGNATURE").is_some_and(|it| is_yes(&it));
        builder = if is_anonymous { builder } else { profile::add(builder)? };
        let endpoint = builder.get_config_value(&AmazonS3ConfigKey::S3Endpoint);
        let endpoint = endpoint.or_else(|| builder.get_config_value(&AmazonS3ConfigKey::Endpoint));
        if variable("AWS_ALLOW_HTTP").is_none()
            && endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"))
        {
            builder = builder.with_allow_http(true);
        }
        if let Some(region) = region {
            builder = builder.with_region(region);
        }
        let region = builder.get_config_value(&AmazonS3ConfigKey::Region);
        let client = builder
            .with_bucket_name(bucket)
            .with_retry(once())
            .with_http_connector(Connector { creates })
            .build();
        Ok(Clients::new(client.map_err(|error| innermost(&error))?, region))
    }

    fn new<C: ObjectStore + MultipartStore>(client: C, region: Option<String>) -> Clients {
        let client = Arc::new(client);
        Clients { objects: Arc::clone(&client) as _, uploads: client, region }
    }
}

/// True if a variable names a server without TLS.
fn is_plain(name: &str) -> bool {
    variable(name).is_some_and(|url| url.starts_with("http://"))
}
/// True for the values of variables that the client of S3 takes for a yes.
fn is_yes(value: &str) -> bool {
    ["1", "true", "on", "yes", "y"].iter().any(|yes| value.eq_ignore_ascii_case(yes))
}
