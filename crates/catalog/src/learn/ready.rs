//! Collations that this process has learned or read from their files: the next table that has one takes it
//! as it is.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use locks::Mutex;
use values::collation::Collation;

use super::{CollationCache, learn};
use server::error::Result;
use server::session::Session;

/// As many are kept; a large one takes some 2 MB.
const KEPT_MAX: usize = 8;

/// By their files, which tell server versions apart; the one used last at the end.
static KEPT: Mutex<VecDeque<(PathBuf, Arc<Collation>)>> = Mutex::new(VecDeque::new());

/// A collation that is not built in.
///
/// Errors: those of [`learn`]; an order that cannot be reproduced.
pub(super) fn or_learn(
    session: &mut Session,
    name: &str,
    cache: &CollationCache,
) -> Result<Arc<Collation>> {
    let path = cache.path(&session.version().text, name);
    if let Some(collation) = path.as_deref().and_then(find) {
        return Ok(collation);
    }
    let collation = Arc::new(Collation::learned(learn(session, name, cache)?)?);
    if let Some(path) = path {
        keep(path, Arc::clone(&collation));
    }
    Ok(collation)
}

pub(super) fn find(path: &Path) -> Option<Arc<Collation>> {
    let mut kept = KEPT.lock();
    let at = kept.iter().position(|(of, _)| of == path)?;
    let found = kept.remove(at)?;
    let collation = Arc::clone(&found.1);
    kept.push_back(found);
    Some(collation)
}

pub(super) fn keep(path: PathBuf, collation: Arc<Collation>) {
    let mut kept = KEPT.lock();
    kept.retain(|(of, _)| *of != path);
    kept.push_back((path, collation));
    while kept.len() > KEPT_MAX {
        kept.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use values::Charset;

    use super::*;

    #[test]
    fn the_ones_used_last_are_kept() {
        let path = |number: usize| PathBuf::from(format!("/no/such/folder/{number}"));
        let collation = Arc::new(Collation::bytewise(Charset::Utf8mb4, true));
        for number in 0..=KEPT_MAX {
            keep(path(number), Arc::clone(&collation));
            assert!(find(&path(0)).is_some() && find(&path(number)).is_some());
        }
        // Of one more than there is room for, that which nobody has asked for longest.
        assert!(find(&path(1)).is_none() && find(&path(2)).is_some());
    }
}
