//! Learning a character set: which bytes are characters, their code points, and the way back.
//!
//! The conversion tables are the server's own, asked for in bulk: `CHAR(n USING x)` is NULL where
//! the bytes of n are no text of the set, and CONVERT gives `?` for what has no counterpart. No
//! learnable set has characters beyond the basic plane (the tables in strings/ctype-*.c have 16 bits).

use locks::Mutex;

use values::Charset;
use values::charset::{CharsetData, CharsetTable};
use values::collation::CollationError;

use super::CollationCache;
use super::numbers;
use server::error::{Error, Result};
use server::identifier::hex;
use server::session::Session;
use server::version::Flavor;

/// CONVERT's result for a character that the other set lacks.
const LACKS: u32 = b'?' as u32;
/// Strings of the self-test, and their characters.
const STRINGS: usize = 300;
const STRING_CHARS: usize = 12;

/// Character sets already learned by this process: server version, name, set.
static LEARNED: Mutex<Vec<(String, Charset)>> = Mutex::new(Vec::new());

/// The character set of this name: built in, from the cache, or learned now.
///
/// Learning takes a fraction of a second, once per server version.
///
/// Errors: the server has no such character set (the message lists those it has), or what was
/// learned does not convert random text as the server does.
pub fn charset(session: &mut Session, name: &str, cache: &CollationCache) -> Result<Charset> {
    let name = name.to_ascii_lowercase();
    if let Some(charset) = Charset::built_in(&name) {
        return Ok(charset);
    }
    let version = session.version().text.clone();
    let known = |learned: &[(String, Charset)]| {
        let same = |(of, charset): &&(String, Charset)| *of == version && charset.name() == name;
        learned.iter().find(same).map(|(_, charset)| *charset)
    };
    if let Some(charset) = known(&LEARNED.lock()) {
        return Ok(charset);
    }
    let charset = match cache.load_charset(&version, &name).map(CharsetTable::intern) {
        Some(Ok(charset)) => charset,
        _ => {
            let data = learn(session, &name)?;
            let charset = CharsetTable::intern(data.clone())?;
            self_test(session, charset, &data)?;
            cache.store_charset(&version, &data);
            charset
        }
    };
    let mut learned = LEARNED.lock();
    if known(&learned).is_none() {
        learned.push((version, charset));
    }
    Ok(charset)
}

/// Asks the server for everything about a character set.
fn learn(session: &mut Session, name: &str) -> Result<CharsetData> {
    let bytes_max = bytes_max(session, name)?;
    let characters = characters(session, name, bytes_max)?;
    let stored = stored(session, name)?;
    let spaces = spaces(session, name)?;
    Ok(CharsetData { name: name.to_owned(), characters, stored, spaces })
}

/// Bytes of the longest character, which also proves that the name is one.
fn bytes_max(session: &mut Session, name: &str) -> Result<u32> {
    let sql = "SELECT CHARACTER_SET_NAME, MAXLEN FROM information_schema.CHARACTER_SETS ORDER BY 1";
    let mut names = Vec::new();
    for row in session.query(sql)? {
        let known = row.text(0)?;
        if known == name {
            return row.number(1);
        }
        names.push(known);
    }
    Err(Error::UnknownCharset { name: name.to_owned(), known: names.join(", ") })
}

/// Each character's code and code point.
fn characters(
    session: &mut Session,
    name: &str,
    bytes_max: u32,
) -> Result<Vec<(u32, Option<u32>)>> {
    // A character of three bytes begins with SS3, 0x8f, in both sets that have some.
    let ranges: &[(u32, u32)] = match bytes_max {
        1 => &[(0, 0x100)],
        2 => &[(0, 0x1_0000)],
        _ => &[(0, 0x1_0000), (0x8f_0000, 0x1_0000)],
    };
    let mut characters = Vec::new();
    for &(first, count) in ranges {
        let sql = format!(
            "{} SELECT n, BINARY CONVERT(c USING utf32) FROM \
             (SELECT n, CHAR(n USING {name}) AS c FROM s) AS t WHERE CHAR_LENGTH(c) = 1",
            numbers(first, count)
        );
        session.for_each(&sql, |row| {
            let code = row.number(0)?;
            let point = row.bytes(1).and_then(big_endian);
            characters.push((code, point.filter(|&point| point != LACKS || code == LACKS)));
            Ok(())
        })?;
    }
    characters.sort_unstable();
    Ok(characters)
}

/// Each code point of the basic plane that the set has, and its code there.
fn stored(session: &mut Session, name: &str) -> Result<Vec<(u32, u32)>> {
    let sql = format!(
        "{} SELECT n, BINARY CONVERT(CHAR(n USING utf32) USING {name}) FROM s",
        numbers(0, 0x1_0000)
    );
    let mut stored = Vec::new();
    session.for_each(&sql, |row| {
        let point = row.number(0)?;
        if let Some(code) = row.bytes(1).and_then(big_endian)
            && (code != LACKS || point == LACKS)
        {
            stored.push((point, code));
        }
        Ok(())
    })?;
    stored.sort_unstable();
    Ok(stored)
}

/// Bytes that may stand behind a number: the server's character table calls them white space.
///
/// MySQL judges numbers itself, so those of ASCII do.
fn spaces(session: &mut Session, name: &str) -> Result<Vec<u8>> {
    if session.version().flavor == Flavor::MySql {
        return Ok(b"\t\n\x0b\x0c\r ".to_vec());
    }
    // Other text behind a digit is worth a warning, white space no more than a note. On its own, as
    // newer servers warn of this setting.
    let before = session.variable("sql_notes").unwrap_or("1").to_owned();
    session.set(&[("sql_notes", "0")])?;
    let spaces = (0..=u8::MAX)
        .filter(|byte| !byte.is_ascii_digit())
        .map(|byte| {
            let sql = format!("DO CAST(CONVERT(x'31{byte:02x}' USING {name}) AS SIGNED)");
            Ok((session.exec(&sql)?.warnings == 0).then_some(byte))
        })
        .filter_map(Result::transpose)
        .collect();
    session.set(&[("sql_notes", &before)])?;
    spaces
}

fn big_endian(bytes: &[u8]) -> Option<u32> {
    let number = || bytes.iter().fold(0, |number, &byte| (number << 8) | u32::from(byte));
    (1..=4).contains(&bytes.len()).then(number)
}

/// Converts random text both ways as the server does, or says where they differ.
fn self_test(session: &mut Session, charset: Charset, data: &CharsetData) -> Result<()> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % limit
    };
    let mut strings = Vec::with_capacity(STRINGS);
    for _ in 0..STRINGS {
        let chars = below(STRING_CHARS);
        let mut there = Vec::new();
        let mut here = Vec::new();
        for _ in 0..chars {
            let (code, _) = data.characters[below(data.characters.len())];
            charset.push_char(code, &mut there);
            let point = match below(3) {
                0 => below(0xd800) as u32,
                _ => data.stored[below(data.stored.len())].0,
            };
            Charset::Utf8mb4.push_char(point, &mut here);
        }
        strings.push((there, here));
    }
    let name = charset.name();
    let item = |(there, here): &(Vec<u8>, Vec<u8>)| {
        format!(
            "CONVERT(_{name} x'{}' USING utf8mb4), CONVERT(_utf8mb4 x'{}' USING {name})",
            hex(there),
            hex(here)
        )
    };
    let list: Vec<String> = strings.iter().map(item).collect();
    let sql = format!("SELECT {}", list.join(","));
    // As bytes: the connection would convert the second again.
    let row = session.query_row(&sql.replace("CONVERT(", "BINARY CONVERT("))?;
    for (i, (there, here)) in strings.iter().enumerate() {
        let recode = |text: &[u8], from, to| {
            let mut out = Vec::new();
            values::charset::recode_lossy(text, from, to, &mut out);
            out
        };
        let ours =
            [recode(there, charset, Charset::Utf8mb4), recode(here, Charset::Utf8mb4, charset)];
        if row.bytes(2 * i) != Some(&ours[0]) || row.bytes(2 * i + 1) != Some(&ours[1]) {
            let why = format!(
                "the server converts 0x{} or, from utf8mb4, 0x{} differently from Inrush",
                hex(there),
                hex(here)
            );
            return Err(CollationError::Refused { name: name.to_owned(), why }.into());
        }
    }
    Ok(())
}
