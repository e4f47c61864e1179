//! The files of profiles that programs for Amazon's cloud share: `~/.aws/credentials` and `~/.aws/config`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};

/// Values of a profile that we know, and their keys in a builder.
const KNOWN: [(&str, AmazonS3ConfigKey); 8] = [
    ("aws_access_key_id", AmazonS3ConfigKey::AccessKeyId),
    ("aws_secret_access_key", AmazonS3ConfigKey::SecretAccessKey),
    ("aws_session_token", AmazonS3ConfigKey::Token),
    ("region", AmazonS3ConfigKey::Region),
    ("endpoint_url", AmazonS3ConfigKey::Endpoint),
    ("role_arn", AmazonS3ConfigKey::RoleArn),
    ("role_session_name", AmazonS3ConfigKey::RoleSessionName),
    ("web_identity_token_file", AmazonS3ConfigKey::WebIdentityTokenFile),
];
/// The first of [`KNOWN`] are credentials, which belong together.
const CREDENTIALS: usize = 3;
/// Credentials by means that we do not have.
const ELSEWHERE: [&str; 4] =
    ["credential_process", "sso_session", "sso_start_url", "source_profile"];

/// The values of a profile.
#[derive(Debug, Default, PartialEq, Eq)]
struct Profile(BTreeMap<String, String>);

/// Adds what the environment does not name and a profile does.
///
/// Errors: a profile that is named and is missing, or whose credentials are had by means that we do not have.
pub(crate) fn add(mut builder: AmazonS3Builder) -> Result<AmazonS3Builder, String> {
    let named = variable("AWS_PROFILE").or_else(|| variable("AWS_DEFAULT_PROFILE"));
    let name = named.clone().unwrap_or_else(|| "default".to_owned());
    let mut profile = Profile::default();
    let mut is_found = false;
    for (variable, file, prefix) in [
        ("AWS_CONFIG_FILE", "config", "profile "),
        ("AWS_SHARED_CREDENTIALS_FILE", "credentials", ""),
    ] {
        let Some(path) = path(variable, file) else { continue };
        let section = if name == "default" { name.clone() } else { format!("{prefix}{name}") };
        is_found |= profile.read(&path, &section);
    }
    if named.is_some() && !is_found {
        return Err(format!(
            "AWS_PROFILE={name}: ~/.aws/credentials and ~/.aws/config have no such profile"
        ));
    }
    let is_set = |builder: &AmazonS3Builder, key: &AmazonS3ConfigKey| {
        builder.get_config_value(key).is_some()
    };
    let has_credentials = is_set(&builder, &AmazonS3ConfigKey::AccessKeyId)
        || is_set(&builder, &AmazonS3ConfigKey::WebIdentityTokenFile);
    for (at, (name, key)) in KNOWN.into_iter().enumerate() {
        let is_kept = is_set(&builder, &key) || at < CREDENTIALS && has_credentials;
        if let Some(value) = profile.0.remove(name).filter(|_| !is_kept) {
            builder = builder.with_config(key, value);
        }
    }
    let has_credentials = has_credentials
        || is_set(&builder, &AmazonS3ConfigKey::AccessKeyId)
        || is_set(&builder, &AmazonS3ConfigKey::WebIdentityTokenFile);
    match ELSEWHERE.iter().find(|key| !has_credentials && profile.0.contains_key(**key)) {
        Some(key) => Err(format!(
            "the profile {name} has its credentials by {key}, which this program does not read; the \
             command aws configure export-credentials prints them, to be set as variables"
        )),
        None => Ok(builder),
    }
}

/// A variable of the environment that is not empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn path(name: &str, file: &str) -> Option<PathBuf> {
    let named = variable(name).map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".aws").join(file)))
}

impl Profile {
    /// Adds the values of a section; true if the file has it. A file that cannot be read has none.
    fn read(&mut self, path: &Path, section: &str) -> bool {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        self.parse(&text, section)
    }

    /// Lines that are indented belong to the value above them, and none of those is ours.
    fn parse(&mut self, text: &str, section: &str) -> bool {
        let (mut is_in, mut is_found) = (false, false);
        for line in text.lines() {
            let is_comment = line.trim_start().starts_with(['#', ';']);
            if is_comment || line.starts_with([' ', '\t']) || line.trim().is_empty() {
                continue;
            }
            if let Some(name) = line.trim().strip_prefix('[') {
                let name = name.split(']').next().unwrap_or_default();
                let words: Vec<&str> = name.split_whitespace().collect();
                is_in = words.join(" ") == section;
                is_found |= is_in;
            } else if let Some((key, value)) = line.split_once('=').filter(|_| is_in) {
                let value = value.split(" #").next().unwrap_or_default().trim();
                self.0.insert(key.trim().to_ascii_lowercase(), value.to_owned());
            }
        }
        is_found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_read_and_the_others_are_not() {
        let text = "[default]\nregion = eu-west-1\n; aws_secret_access_key = a\n[profile  work]\n\
                    Region=us-east-2 # a comment\ns3 =\n  endpoint_url = http://no\naws_access_key_id = k=1\n";
        let mut profile = Profile::default();
        assert!(profile.parse(text, "profile work"));
        let value = |key: &str| profile.0.get(key).map(String::as_str);
        assert_eq!(value("region"), Some("us-east-2"));
        assert_eq!(value("aws_access_key_id"), Some("k=1"));
        assert_eq!(value("endpoint_url"), None);
        assert!(!Profile::default().parse(text, "work"));
    }
}
