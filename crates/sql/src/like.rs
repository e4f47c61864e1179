//! Patterns of LIKE, and of names in grants.

/// True if a text matches a pattern: `%` is any text, `_` one character of UTF-8, `\` makes the next one plain.
pub fn is_like(text: &[u8], pattern: &[u8]) -> bool {
    // Where to go on when what follows the last % does not fit there.
    let (mut at, mut of, mut again) = (0, 0, None);
    while at < text.len() {
        let wanted = pattern.get(of).copied();
        let (plain, size) = match (wanted, pattern.get(of + 1)) {
            (Some(b'\\'), Some(&escaped)) => (Some(escaped), 2),
            (Some(b'%'), _) => {
                again = Some((at, of + 1));
                of += 1;
                continue;
            }
            (Some(b'_'), _) => {
                at += character_bytes(&text[at..]);
                of += 1;
                continue;
            }
            (plain, _) => (plain, 1),
        };
        if plain == Some(text[at]) {
            (at, of) = (at + 1, of + size);
            continue;
        }
        let Some((from, behind)) = again else { return false };
        (at, of) = (from + 1, behind);
        again = Some((at, behind));
    }
    pattern[of..].iter().all(|&byte| byte == b'%')
}

fn character_bytes(text: &[u8]) -> usize {
    let continued = text[1..].iter().take_while(|byte| **byte & 0xc0 == 0x80);
    1 + continued.take(3).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_the_server_says() {
        let cases = [
            ("abc", "abc", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abcabd", "%ab_", true),
            ("abc", "a_", false),
            ("", "%", true),
            ("", "_", false),
            ("a%", "a\\%", true),
            ("ab", "a\\%", false),
            ("äb", "_b", true),
            ("aXbXc", "a%X%c", true),
            ("abc", "ABC", false),
            ("a", "", false),
            ("abbc", "a%c", true),
            ("abb", "a%c", false),
            ("a_", "a\\_", true),
            ("ab", "a\\_", false),
        ];
        for (text, pattern, expected) in cases {
            let seen = is_like(text.as_bytes(), pattern.as_bytes());
            assert_eq!(seen, expected, "{text} LIKE {pattern}");
        }
    }
}
