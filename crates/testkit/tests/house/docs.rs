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

/// The text of all `impl` blocks of a type in a formatted source: those of its own, and of traits for it.
fn blocks_of(source: &str, type_name: &str) -> String {
    let is_of = |line: &str| {
        let words = |text: &str| {
            text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == type_name)
        };
        line.starts_with("impl") && words(line.rsplit(" for ").next().unwrap_or(line))
            || line.split("trait ").nth(1).is_some_and(|rest| !line.starts_with(' ') && words(rest))
    };
    let (mut found, mut is_in) = (String::new(), false);
    for line in source.lines() {
        is_in |= is_of(line);
        if is_in {
            found.push_str(line);
            found.push('\n');
        }
        is_in &= line != "}";
    }
    found
}

/// True if a file of this path has a `Type`, a `Type::function`, a `module::function` or a `function`.
fn has_name(path: &str, source: &str, name: &str) -> bool {
    let is_type = |name: &str| name.starts_with(char::is_uppercase);
    let has_function = |text: &str, name: &str| {
        ["(", "<"].iter().any(|end| text.contains(&format!("fn {name}{end}")))
    };
    match name.split_once("::") {
        Some((owner, function)) if is_type(owner) => {
            has_function(&blocks_of(source, owner), function)
        }
        Some((module, function)) => {
            let is_in = path.ends_with(&format!("/{module}.rs"))
                || path == format!("crates/{module}/src/lib.rs");
            is_in && has_function(source, function)
        }
        None if is_type(name) => ["struct", "enum", "trait", "type"].iter().any(|word| {
            let rest = source.split(&format!("{word} {name}")).nth(1);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        }),
        None => has_function(source, name),
    }
}

/// The names and paths in a cell that lead nowhere. A path stands behind the names that its file has.
fn lost(cell: &str) -> Vec<String> {
    let (mut lost, mut names) = (Vec::new(), Vec::new());
    for word in cell.split('`').skip(1).step_by(2).filter(|word| !word.contains(' ')) {
        if !word.contains('/') {
            names.push(word);
            continue;
        }
        let source = fs::read_to_string(root().join(word)).unwrap_or_default();
        if source.is_empty() {
            lost.push(word.to_owned());
        }
        let missing = names.drain(..).filter(|name| !has_name(word, &source, name));
        lost.extend(missing.map(|name| format!("{name} in {word}")));
    }
    lost.extend(names.iter().map(|name| format!("{name} without a file")));
    lost
}

#[test]
fn every_function_in_the_table_of_architecture_exists_in_its_file() {
    let text = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let section = text.split("## Where the code is").nth(1).unwrap();
    let rows = section.split("\n## ").next().unwrap().lines();
    let cells = rows.filter(|line| line.starts_with("| ")).flat_map(|line| line.split('|'));
    let cells: Vec<&str> = cells.filter(|cell| cell.contains('`')).collect();
    assert!(cells.len() > 8, "{} cells", cells.len());
    let lost: Vec<String> = cells.into_iter().flat_map(lost).collect();
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

#[test]
fn names_without_their_file_are_found() {
    let cell =
        "`SpaceFormat::renumber`, `crates/innodb/src/space_format.rs`; `crates/none.rs`; `choose`";
    let expected = [
        "SpaceFormat::renumber in crates/innodb/src/space_format.rs",
        "crates/none.rs",
        "choose without a file",
    ];
    assert_eq!(lost(cell), expected);
    let found =
        "`space_format::renumber` and `SpaceFormat::seal`, `crates/innodb/src/space_format.rs`";
    assert!(lost(found).is_empty());
}
