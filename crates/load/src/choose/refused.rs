//! Why ways are not taken, in sentences.

use job::options::LoadPath;
use serde::Serialize;

/// Why a way is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// `direct`, `stream` or `insert`; `shards` of rows that do not go to each place by itself.
    pub path: &'static str,
    /// One sentence.
    pub reason: String,
}

impl Refused {
    /// Reasons against methods, each reason once, methods with the same reasons together: `not
    /// direct or stream: ..; ..`.
    pub fn sentences(refused: &[Refused]) -> Vec<String> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut refused: Vec<&Refused> = refused.iter().collect();
        refused.sort_by_key(|no| LoadPath::TAKEN.iter().position(|path| path.name() == no.path));
        for Refused { path, reason } in refused {
            match reasons.iter_mut().find(|(known, _)| known == reason) {
                Some((_, paths)) if paths.contains(path) => {}
                Some((_, paths)) => paths.push(path),
                None => reasons.push((reason, vec![path])),
            }
        }
        let mut sentences: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
        for (reason, paths) in reasons {
            match sentences.iter_mut().find(|(known, _)| *known == paths) {
                Some((_, reasons)) => reasons.push(reason),
                None => sentences.push((paths, vec![reason])),
            }
        }
        let sentence = |(paths, reasons): (Vec<&str>, Vec<&str>)| {
            // `direct`, `direct or stream`, `direct, stream or insert`
            let commas = paths.len().saturating_sub(2);
            let paths = paths.join(" or ").replacen(" or ", ", ", commas);
            format!("not {paths}: {}", reasons.join("; "))
        };
        sentences.into_iter().map(sentence).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_told_once() {
        let no = |path, reason: &str| Refused { path, reason: reason.to_owned() };
        let refused = [
            no("stream", "only by INSERT"),
            no("direct", "only by INSERT"),
            no("direct", "not empty"),
            no("direct", "partitions"),
            no("direct", "partitions"),
            no("direct", "read-only"),
            no("stream", "read-only"),
            no("insert", "read-only"),
        ];
        assert_eq!(
            Refused::sentences(&refused),
            [
                "not direct or stream: only by INSERT",
                "not direct: not empty; partitions",
                "not direct, stream or insert: read-only"
            ]
        );
        assert!(Refused::sentences(&[]).is_empty());
    }
}
