//! Imports of modules, read off their text.

use std::collections::{BTreeMap, BTreeSet};

/// A module's path below its crate; empty for the crate's root.
type Module = Vec<String>;

/// The text without comments and test modules.
pub(crate) fn product(text: &str) -> String {
    let code = |line: &str| line.split_once("//").map_or(line, |(code, _)| code).to_owned() + "\n";
    without_tests(text).lines().map(code).collect()
}

/// The text without test modules.
pub(crate) fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            // The attributes and the item: a module to its closing brace, or one line.
            let mut item = lines.next().unwrap_or_default();
            while item.trim_start().starts_with("#[") {
                item = lines.next().unwrap_or_default();
            }
            if item.ends_with('{') {
                let indent = item.len() - item.trim_start().len();
                let end = format!("{}}}", " ".repeat(indent));
                for inner in lines.by_ref() {
                    if inner == end {
                        break;
                    }
                }
            }
            continue;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

/// Circles among modules of one parent: `a -> b -> a`.
pub(crate) fn circles(files: &BTreeMap<String, String>) -> Vec<String> {
    let modules: BTreeMap<Module, &str> =
        files.iter().map(|(path, text)| (module(path), text.as_str())).collect();
    let exported: BTreeMap<&Module, BTreeMap<String, Module>> =
        modules.iter().map(|(of, text)| (of, exports(of, text, &modules))).collect();
    // By parent: which child imports from which.
    let mut edges: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (from, text) in &modules {
        for path in paths(from, text, &modules) {
            let to = resolve(path, &modules, &exported);
            let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if common < from.len() && common < to.len() {
                let children = edges.entry(from[..common].to_vec()).or_default();
                children.entry(from[common].clone()).or_default().insert(to[common].clone());
            }
        }
    }
    let mut found = Vec::new();
    for (parent, children) in &edges {
        let mut done = BTreeSet::new();
        for start in children.keys() {
            if let Some(way) = way_back(start, children).filter(|_| !done.contains(start)) {
                done.extend(way.iter().cloned());
                let prefix = parent.iter().fold(String::new(), |text, part| text + part + "::");
                found.push(format!("{prefix}{}", way.join(" -> ")));
            }
        }
    }
    found
}

/// `a/b.rs` and `a/b/mod.rs` are `[a, b]`.
fn module(path: &str) -> Module {
    let path = path.trim_end_matches(".rs");
    let mut parts: Module = path.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| ["lib", "main", "mod"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// Names that a module exports from elsewhere, and where from.
fn exports(of: &Module, text: &str, modules: &BTreeMap<Module, &str>) -> BTreeMap<String, Module> {
    let mut found = BTreeMap::new();
    for tree in uses(text).filter(|(is_public, _)| *is_public).map(|(_, tree)| tree) {
        for path in expand(&tree) {
            let (path, alias) = match path.split_once(" as ") {
                Some((path, alias)) => (path.to_owned(), Some(alias.trim().to_owned())),
                None => (path, None),
            };
            if let Some(path) = absolute(of, &path, modules)
                && let Some(name) = alias.or_else(|| path.last().cloned())
            {
                found.insert(name, path);
            }
        }
    }
    found
}

/// All paths to modules of the crate that a module's text has.
fn paths(of: &Module, text: &str, modules: &BTreeMap<Module, &str>) -> Vec<Module> {
    let mut found = Vec::new();
    for (_, tree) in uses(text) {
        found.extend(expand(&tree).iter().filter_map(|path| absolute(of, path, modules)));
    }
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
        if ["crate::", "super::", "self::"].iter().any(|start| word.starts_with(start)) {
            found.extend(absolute(of, word, modules));
        }
    }
    found
}

/// The trees of all `use` declarations, and whether they are exported again.
fn uses(text: &str) -> impl Iterator<Item = (bool, String)> + '_ {
    let statements = text.split(';');
    statements.filter_map(|statement| {
        let start = statement.rfind("use ")?;
        let before = statement[..start].rsplit('\n').next().unwrap_or_default().trim();
        let is_public = before.starts_with("pub");
        let tree = statement[start + 4..].split_whitespace().collect::<Vec<_>>().join(" ");
        (before.is_empty() || is_public).then_some((is_public, tree))
    })
}

/// `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(tree: &str) -> Vec<String> {
    let Some((prefix, rest)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let body = rest.strip_suffix('}').unwrap_or(rest);
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, byte) in body.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&body[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&body[start..]);
    let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    let whole = |part: &str| format!("{}{part}", prefix.trim());
    parts.flat_map(|part| expand(&whole(part))).map(|path| path.replace("::self", "")).collect()
}

/// The path from the crate's root; None for one of another crate.
fn absolute(of: &Module, path: &str, modules: &BTreeMap<Module, &str>) -> Option<Module> {
    let mut parts: Vec<String> =
        path.split("::").map(|part| part.trim().to_owned()).filter(|p| !p.is_empty()).collect();
    let mut base = of.clone();
    match parts.first()?.as_str() {
        "crate" => base.clear(),
        "self" => {}
        "super" => {
            while parts.get(1).is_some_and(|part| part == "super") {
                base.pop();
                parts.remove(0);
            }
            base.pop();
        }
        first => {
            let child: Module = base.iter().cloned().chain([first.to_owned()]).collect();
            if !modules.contains_key(&child) {
                return None;
            }
            parts.insert(0, "self".to_owned());
        }
    }
    base.extend(parts.drain(1..));
    Some(base)
}

/// The module that a path's item stands in, through what modules export again.
fn resolve(
    mut path: Module,
    modules: &BTreeMap<Module, &str>,
    exported: &BTreeMap<&Module, BTreeMap<String, Module>>,
) -> Module {
    for _ in 0..8 {
        let known = (0..=path.len()).rev().find(|&end| modules.contains_key(&path[..end]));
        let end = known.unwrap_or(0);
        let module = path[..end].to_vec();
        let next = path.get(end).and_then(|name| exported.get(&module)?.get(name));
        match next {
            Some(origin) if !origin.starts_with(&path[..=end]) => {
                path = origin.iter().cloned().chain(path[end + 1..].iter().cloned()).collect();
            }
            _ => return module,
        }
    }
    path
}

/// The shortest way from a module over others back to itself.
fn way_back(start: &str, edges: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    let mut ways = std::collections::VecDeque::from([vec![start.to_owned()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in edges.get(way.last()?).into_iter().flatten() {
            let longer: Vec<String> = way.iter().cloned().chain([next.clone()]).collect();
            if next == start {
                return Some(longer);
            }
            if seen.insert(next.clone()) {
                ways.push_back(longer);
            }
        }
    }
    None
}
