//! Built-in collations on MySQL, where the self-test decides whether the server has the same order.

use std::sync::Arc;

use values::collation::{Collation, Verdict};
use values::{Charset, CollationData};

use super::target::{Levels, Target};
use super::{CollationCache, ready, refused, self_test, without_weights};
use server::error::Result;
use server::session::Session;

/// A built-in collation as MySQL has it.
///
/// Errors: the server's order is another one; those of the connection.
pub(super) fn of_mysql(
    session: &mut Session,
    built_in: Collation,
    cache: &CollationCache,
) -> Result<Arc<Collation>> {
    let collation = built_in.of_mysql();
    let (name, charset) = (collation.name().to_owned(), collation.charset());
    if charset == Charset::Binary {
        return Ok(Arc::new(collation));
    }
    let path = cache.path(&session.version().text, &name);
    if let Some(collation) = path.as_deref().and_then(ready::find) {
        return Ok(collation);
    }
    let data = match cache.load(&session.version().text, &name, charset) {
        Some(data) => data,
        None => {
            let data = tested(session, &collation)?;
            cache.store(&data);
            data
        }
    };
    if let Verdict::Refused(_) = data.verdict {
        return Collation::learned(data).map(Arc::new).map_err(Into::into);
    }
    let collation = Arc::new(collation);
    if let Some(path) = path {
        ready::keep(path, Arc::clone(&collation));
    }
    Ok(collation)
}

/// The verdict on a built-in collation, without weights.
fn tested(session: &mut Session, collation: &Collation) -> Result<CollationData> {
    let (name, charset) = (collation.name(), collation.charset());
    let target = Target { charset, name, levels: Levels::One };
    let data = without_weights(session, name, charset);
    if target.has_pad_attribute(session)? != collation.is_pad_space() {
        let why = "spaces at the end of a string count otherwise than in Inrush".to_owned();
        return Ok(refused(data, why));
    }
    Ok(match self_test::run(session, target, collation, &data, false)? {
        None => CollationData { verdict: Verdict::Exact, ..data },
        Some(why) => refused(data, why),
    })
}
