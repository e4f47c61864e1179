//! Names of objects as users write them: `s3://bucket/folder/t.csv`.

use std::fmt;

/// The kind of an object store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scheme {
    /// Amazon S3, and servers that speak as it does.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage.
    Azure,
}

/// The address of an object, a folder or a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) scheme: Scheme,
    pub(crate) bucket: String,
    /// The name in the bucket; empty of the bucket itself.
    pub(crate) key: String,
}

impl Scheme {
    /// As URLs begin.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Scheme::S3 => "s3",
            Scheme::Google => "gs",
            Scheme::Azure => "az",
        }
    }

    /// The store's word for a bucket.
    pub(crate) fn bucket(self) -> &'static str {
        match self {
            Scheme::S3 | Scheme::Google => "bucket",
            Scheme::Azure => "container",
        }
    }
}

impl Address {
    /// Errors: what is wrong with the URL, without its text, which may have a password.
    pub(crate) fn parse(text: &str) -> Result<Address, String> {
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let schemes = [Scheme::S3, Scheme::Google, Scheme::Azure];
        let scheme = schemes.into_iter().find(|known| scheme.eq_ignore_ascii_case(known.name()));
        let scheme = scheme.ok_or("URLs of object stores begin with s3://, gs:// or az://")?;
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        let name = scheme.name();
        if bucket.contains(['@', ':']) {
            return Err(format!(
                "a URL of {name}:// has a user, a password or a port, and credentials and servers \
                 are named by environment variables"
            ));
        }
        let is_valid = |c: char| c.is_ascii_alphanumeric() || "-_.$".contains(c);
        if bucket.is_empty() || !bucket.chars().all(is_valid) {
            let what = scheme.bucket();
            return Err(format!("a URL of {name}:// names no {what}: {name}://BUCKET/NAME"));
        }
        Ok(Address { scheme, bucket: bucket.to_owned(), key: key.to_owned() })
    }

    /// Another name in the same bucket.
    pub(crate) fn with_key(&self, key: &str) -> Address {
        Address { key: key.to_owned(), ..self.clone() }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}/{}", self.scheme.name(), self.bucket, self.key)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_bucket_and_no_credentials() {
        let address = Address::parse("S3://shop/a/b c?d#e.csv").unwrap();
        assert_eq!((address.scheme, address.key.as_str()), (Scheme::S3, "a/b c?d#e.csv"));
        assert_eq!(address.to_string(), "s3://shop/a/b c?d#e.csv");
        assert_eq!(Address::parse("gs://shop").unwrap().key, "");
        for wrong in ["s3://", "s3:///a", "az://a b/c", "http://a/b", "s3"] {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
        let error = Address::parse("s3://AKIA:hunter2@shop/a").unwrap_err();
        assert!(error.contains("environment") && !error.contains("hunter2"), "{error}");
    }
}
