//! Records of JSON: a line each, in arrays, one behind the other, and what is none.

use crate::{Inputs, input};

/// A line each, unknown fields refused; chunks of some bytes, as `fuzz/src/json.rs` reads them.
const LINES: [u8; 2] = [0, 15];
/// Arrays, or one behind the other.
const OBJECTS: [u8; 2] = [1, 15];
/// The same, unknown fields left out.
const LOOSE: [u8; 2] = [3, 40];

pub(crate) fn inputs() -> Inputs {
    let deep = |depth: usize| format!("{{\"a\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
    let (hundred, more) = (deep(100), deep(101));
    let long = format!("{{\"a\": \"{}\", \"b\": {}}}\n", "x".repeat(700), "9".repeat(90));
    let sparse: String = (0..40).map(|n| format!("{{\"a{}\": {n}}}\n", n % 3)).collect();
    [
        ("flat", LINES, "{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2, \"b\": null}\n"),
        ("other_order", LINES, "{\"a\":1,\"b\":2}\n{\"b\":3,\"a\":4}\n{\"b\":5}\n"),
        ("no_newline_at_the_end", LINES, "{\"a\":1}\n{\"a\":2}"),
        ("carriage_returns", LINES, "{\"a\":1}\r\n\r\n{\"a\":2}\r\n"),
        ("blank_lines", LINES, "\n\n{\"a\":1}\n \t\n"),
        ("numbers", LINES, "{\"a\":-0,\"b\":1e5}\n{\"a\":0.10,\"b\":-1E-7}\n{\"a\":123456789012345678901234567890}\n"),
        ("no_numbers", LINES, "{\"a\":01}\n{\"a\":1.}\n{\"a\":.5}\n{\"a\":+1}\n{\"a\":1e}\n{\"a\":-}\n{\"a\":NaN}\n"),
        ("words", LINES, "{\"a\":true,\"b\":false}\n{\"a\":null}\n{\"a\":nul}\n{\"a\":True}\n"),
        ("escapes", LINES, "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"b\":\"\\u0000\\u00e9\\ud83d\\ude00\"}\n"),
        ("bad_escapes", LINES, "{\"a\":\"\\x\"}\n{\"a\":\"\\u12\"}\n{\"a\":\"\\ud800\"}\n{\"a\":\"\\udc00\"}\n{\"a\":\"\\"),
        ("control_characters", LINES, "{\"a\":\"\t\"}\n{\"a\":\"\u{1}\"}\n{\"a\":\"\u{7f}\"}\n"),
        ("letters", LINES, "{\"\u{e9}t\u{e9}\":\"\u{65e5}\u{672c}\",\"\u{1f600}\":1}\n"),
        ("escaped_names", LINES, "{\"\\u0061\":1,\"b\\n\":2}\n{\"a\":3}\n"),
        ("names_twice", LINES, "{\"a\":1,\"a\":2}\n{\"a\":1,\"A\":2}\n"),
        ("nested", LINES, "{\"a\":[1,{\"b\":[]}],\"b\":{\"c\":\"}\"}}\n{\"a\":{},\"b\":[[],[]]}\n"),
        ("bad_nested", LINES, "{\"a\":[1,]}\n{\"a\":{\"b\"}}\n{\"a\":[}\n{\"a\":{\"b\":1,}}\n{\"a\":[1 2]}\n"),
        ("hundred_arrays", LINES, &hundred),
        ("more_arrays", LINES, &more),
        ("no_objects", LINES, "1\n\"a\"\n[1]\nnull\nnonsense\n{\n"),
        ("text_behind", LINES, "{\"a\":1} {\"a\":2}\n{\"a\":1},\n"),
        ("quote_without_end", LINES, "{\"a\":\"x}\n{\"a\":2}\n"),
        ("commas", LINES, "{\"a\":1,}\n{,\"a\":1}\n{\"a\" 1}\n{\"a\":1 \"b\":2}\n"),
        ("empty_objects", LINES, "{}\n{ }\n{\"\":1}\n"),
        ("long", LINES, &long),
        ("sparse", LINES, &sparse),
        ("mark", LINES, "\u{feff}{\"a\":1}\n"),
        ("array", OBJECTS, "[{\"a\":1},{\"a\":2}]"),
        ("pretty_array", OBJECTS, "[\n  {\n    \"a\": 1,\n    \"b\": \"x\"\n  },\n  {\n    \"a\": 2\n  }\n]\n"),
        ("one_behind_the_other", OBJECTS, "{\"a\":1}{\"a\":2}\n\n{\"a\":3} {\"a\":4}"),
        ("braces_in_texts", OBJECTS, "[{\"a\":\"}{\"},{\"a\":\"\\\"}\"},{\"a\":\"\\\\\"}]"),
        ("arrays_in_arrays", OBJECTS, "[[{\"a\":1}],[[{\"a\":2}]]]"),
        ("no_objects_in_array", OBJECTS, "[1,\"a,b\",null,{\"a\":1},[2]]"),
        ("array_without_end", OBJECTS, "[{\"a\":1},{\"a\":2}"),
        ("object_without_end", OBJECTS, "[{\"a\":1},{\"a\":2"),
        ("text_without_end", OBJECTS, "[{\"a\":1},{\"a\":\"x"),
        ("escape_at_the_end", OBJECTS, "[{\"a\":\"x\\"),
        ("closed_twice", OBJECTS, "[{\"a\":1}]]}]{\"a\":2}"),
        ("empty_array", OBJECTS, "[]"),
        ("empty", OBJECTS, ""),
        ("unknown_fields", LOOSE, "[{\"a\":1},{\"a\":2,\"c\":[\"x\"]}]"),
    ]
    .into_iter()
    .map(|(name, head, text)| input(name, &head, text.as_bytes()))
    .collect()
}
