//! The documentation: links lead somewhere, and sentences begin with their subject.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::root;

/// First words of clauses that stand in place of a noun.
const CLAUSES: [&str; 4] = ["What", "Whether", "Of", "Whoever"];

/// README.md and its neighbours, and all pages below docs.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
        .map(|name| root().join(name))
        .into();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// The lines of a page outside of its blocks of code.
fn prose(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let mut is_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// The anchor that GitHub makes of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn anchors(page: &Path) -> BTreeSet<String> {
    let headings = prose(page).into_iter().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

#[test]
fn every_link_of_the_documentation_leads_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = prose(&page).join("\n");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            let is_page = target.extension().is_some_and(|ending| ending == "md");
            let leads = link.starts_with("http")
                || target.exists()
                    && (heading.is_empty() || !is_page || anchors(&target).contains(heading));
            if !leads {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn sentences_of_the_documentation_begin_with_a_noun() {
    let mut found = Vec::new();
    for page in pages() {
        let mut is_start = true;
        for line in prose(&page) {
            let text = line.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '`');
            is_start |= line.trim().is_empty() || text.len() < line.len();
            for (position, sentence) in text.split(['.', '?', '!', '|']).enumerate() {
                let word = sentence.trim_start().split([' ', ',']).next().unwrap_or_default();
                let begins = if position == 0 { is_start } else { sentence.starts_with(' ') };
                if begins && CLAUSES.contains(&word.trim_start_matches('*')) {
                    found.push(format!("{}: {}", page.display(), sentence.trim()));
                }
            }
            is_start = line.trim_end().ends_with(['.', '?', '!', '|']);
        }
    }
    assert!(found.is_empty(), "{} sentences:\n{}", found.len(), found.join("\n"));
}
