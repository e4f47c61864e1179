//! The licences of what we link, as cargo knows them, beside those that `deny.toml` allows.
//!
//! `cargo deny` looks further: at the texts, at what is linked for other machines. This needs no tool.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use super::root;

/// True if the allowed licences satisfy an SPDX expression.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    // An old way of saying OR.
    let text = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = text.split_whitespace().peekable();
    let holds = any(&mut words, allowed);
    assert!(words.next().is_none(), "{expression:?} cannot be read");
    holds
}

type Words<'t> = std::iter::Peekable<std::str::SplitWhitespace<'t>>;

fn any(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> bool {
    let mut holds = all(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        holds |= all(words, allowed);
    }
    holds
}

fn all(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> bool {
    let mut holds = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        holds &= one(words, allowed);
    }
    holds
}

fn one(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> bool {
    let Some(word) = words.next() else { return false };
    if word == "(" {
        let holds = any(words, allowed);
        return words.next() == Some(")") && holds;
    }
    let mut name = word.to_owned();
    if words.next_if_eq(&"WITH").is_some() {
        name = format!("{name} WITH {}", words.next().unwrap_or_default());
    }
    allowed.contains(&name)
}

/// The quoted texts between two lines of `deny.toml`.
fn quoted(text: &str, from: &str, to: &str) -> BTreeSet<String> {
    let rest = &text[text.find(from).unwrap()..];
    let part = &rest[..rest.find(to).unwrap()];
    let code = part.lines().map(|line| line.split('#').next().unwrap_or_default());
    code.flat_map(|line| line.split('"').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn licences_are_those_that_deny_toml_allows() {
    let deny = fs::read_to_string(root().join("deny.toml")).unwrap();
    let allowed = quoted(&deny, "allow = [", "\n]");
    assert!(allowed.contains("MIT") && allowed.len() > 5, "{allowed:?}");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--locked", "--offline"]);
    command.args(["--filter-platform", "x86_64-unknown-linux-gnu"]).current_dir(root());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100);
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let clarified = format!("crate = \"{name}\"\nexpression = ");
        let expression = match package["license"].as_str() {
            Some(expression) => expression.to_owned(),
            None if deny.contains(&clarified) => {
                let at = deny.find(&clarified).unwrap() + clarified.len();
                deny[at..].split('"').nth(1).unwrap().to_owned()
            }
            None => panic!("{name} names no licence, and deny.toml does not say which it is"),
        };
        assert!(is_allowed(&expression, &allowed), "{name} is under {expression}");
    }
}

#[test]
fn expressions_are_read_as_they_are_meant() {
    let allowed = ["MIT", "ISC"].map(str::to_owned).into();
    for text in ["MIT", "GPL-3.0 OR MIT", "MIT/GPL-3.0", "(GPL-3.0 OR ISC) AND MIT", "MIT AND ISC"]
    {
        assert!(is_allowed(text, &allowed), "{text}");
    }
    for text in ["GPL-3.0", "MIT AND GPL-3.0", "MIT WITH X", "(GPL-3.0 OR BSD) AND MIT"] {
        assert!(!is_allowed(text, &allowed), "{text}");
    }
}
