//! Formats that the server has a function for, against that function.

use written::{Format, Meaning};

use crate::random::Random;
use crate::seed;
use crate::server::Server;

/// Texts of a pattern, some of them changed at random.
const TEXTS: usize = 60;
/// Patterns as programs and people write dates and times.
const PATTERNS: [&str; 21] = [
    "%d.%m.%Y",
    "%m/%d/%y",
    "%Y/%c/%e %H:%i",
    "%Y%m%d%H%i%s",
    "%m/%d/%Y %h:%i:%s %p",
    "%m/%d/%Y %r",
    "%b %e %Y %l:%i%p",
    "%d-%b-%Y %I:%i:%S.%f %p",
    "%a, %d %b %Y %T",
    "%W %e %M %Y",
    "%D %M %Y %k:%i",
    "%Y-%j",
    "%y%j %T",
    "%T",
    "%r",
    "%H:%i",
    "%h%p",
    "%H:%i:%s.%f",
    "%e. %c. %Y",
    "%d/%m/%Y - %H.%i",
    "%Y-%m-%dT%H:%i:%s",
];
/// What is put into texts: no letters, which make a short name a long one.
const PIECES: [&[u8]; 12] =
    [b"0", b"1", b"3", b"9", b" ", b"\t", b":", b"/", b".", b"-", b"P", b"%"];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

#[test]
fn patterns_mean_what_str_to_date_means() {
    let Some(server) = Server::start().unwrap() else { return };
    let seed = seed();
    let mut random = Random::new(seed);
    let mut cases = Vec::new();
    for pattern in PATTERNS {
        for number in 0..TEXTS {
            let text = text_of(pattern, &mut random);
            let is_changed = number % 2 == 1;
            let text = match is_changed {
                true => random.mutate(text.as_bytes(), &PIECES),
                false => text.into_bytes(),
            };
            cases.push((pattern, text, is_changed));
        }
    }
    let rows: Vec<String> = cases
        .iter()
        .enumerate()
        .map(|(id, (pattern, text, _))| {
            let hex: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("({id}, '{pattern}', x'{hex}')")
        })
        .collect();
    let report = server
        .run(&format!(
            "USE oracle;\nSET sql_mode = '';\nCREATE TABLE patterns (id INT PRIMARY KEY, pattern \
             VARCHAR(40), text VARCHAR(99));\nINSERT INTO patterns VALUES {};\nSELECT \
             COALESCE(STR_TO_DATE(text, pattern), 'NULL') FROM patterns ORDER BY id;\n",
            rows.join(", ")
        ))
        .unwrap();
    assert_eq!(report.lines().count(), cases.len());
    let (mut out, mut read) = (Vec::new(), 0);
    for ((pattern, text, is_changed), theirs) in cases.iter().zip(report.lines()) {
        let meaning = Format::parse(pattern).unwrap().read(text, &mut out);
        let shown = String::from_utf8_lossy(text);
        if meaning != Meaning::Text {
            assert!(is_changed, "{pattern}: {shown:?} is {theirs} of the server; seed {seed}");
            continue;
        }
        read += 1;
        let ours = std::str::from_utf8(&out).unwrap();
        if ours.split_once('.').is_some_and(|(_, fraction)| fraction.len() > 6) {
            // More digits are left to the column here, and are text behind %f of the function.
            continue;
        }
        let ours = of_function(ours);
        assert_eq!(ours, theirs, "{pattern}: {shown:?}; seed {seed}");
    }
    assert!(read < cases.len(), "some texts are refused");
}

/// A date, a time or both, as the function writes them: with a date, a time and six digits.
fn of_function(text: &str) -> String {
    if text.is_empty() {
        return "NULL".to_owned();
    }
    let text = match (text.contains('-'), text.contains(':')) {
        (true, false) => format!("{text} 00:00:00"),
        (false, _) => format!("0000-00-00 {text}"),
        (true, true) => text.to_owned(),
    };
    let (clock, fraction) = text.split_once('.').unwrap_or((&text, ""));
    format!("{clock}.{fraction:0<6.6}")
}

/// A text of a pattern.
fn text_of(pattern: &str, random: &mut Random) -> String {
    let mut text = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            text.push(letter);
            if letter == ' ' && random.chance(5) {
                text.push(' ');
            }
            continue;
        }
        let part = letters.next().unwrap();
        if random.chance(12) && !text.is_empty() {
            text.push(' ');
        }
        text += &match part {
            'Y' => format!("{}", 1000 + random.below(9000)),
            'y' => format!("{:02}", random.below(100)),
            'm' | 'c' => padded(1 + random.below(12), pattern, random),
            'd' | 'e' => padded(1 + random.below(31), pattern, random),
            'H' | 'k' => padded(random.below(24), pattern, random),
            'h' | 'I' | 'l' => padded(1 + random.below(12), pattern, random),
            'i' | 's' | 'S' => padded(random.below(60), pattern, random),
            'D' => format!("{}{}", 1 + random.below(31), random.pick(&["st", "nd", "RD", "th"])),
            'j' => format!("{:03}", 1 + random.below(365)),
            'b' => cased(&random.pick(&MONTHS)[..3], random),
            'M' => cased(random.pick(&MONTHS), random),
            'a' => cased(&random.pick(&WEEKDAYS)[..3], random),
            'W' => cased(random.pick(&WEEKDAYS), random),
            'p' => cased(random.pick(&["AM", "PM"]), random),
            'f' => random.digits(1, 6),
            'T' => text_of("%H:%i:%s", random),
            'r' => text_of("%I:%i:%s %p", random),
            other => panic!("{other}"),
        };
    }
    text
}

/// With a zero in front where the parts follow each other, else perhaps.
fn padded(number: usize, pattern: &str, random: &mut Random) -> String {
    match pattern.contains("%m%d") || random.chance(2) {
        true => format!("{number:02}"),
        false => number.to_string(),
    }
}

fn cased(name: &str, random: &mut Random) -> String {
    match random.below(3) {
        0 => name.to_ascii_uppercase(),
        1 => name.to_ascii_lowercase(),
        _ => name.to_owned(),
    }
}

/// What is put into the text of a shape.
const SHAPE_PIECES: [&[u8]; 14] =
    [b"0", b"1", b" ", b"\t", b",", b"(", b")", b".", b"-", b"+", b"e", b"E5", b"EMPTY", b"x"];
const SHAPES: usize = 1500;

#[test]
fn shapes_are_the_bytes_of_st_geomfromtext() {
    let Some(server) = Server::start().unwrap() else { return };
    let seed = seed();
    let mut random = Random::new(seed);
    let cases: Vec<(Vec<u8>, bool)> = (0..SHAPES)
        .map(|number| {
            let mut text = String::new();
            shape(random.below(7), &mut random, &mut text);
            match number % 2 {
                0 => (text.into_bytes(), false),
                _ => (random.mutate(text.as_bytes(), &SHAPE_PIECES), true),
            }
        })
        .collect();
    let rows: Vec<String> = cases
        .iter()
        .enumerate()
        .map(|(id, (text, _))| {
            let hex: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("({id}, x'{hex}')")
        })
        .collect();
    let report = server
        .run(&format!(
            "USE oracle;\nCREATE TABLE shapes (id INT PRIMARY KEY, text TEXT);\nINSERT INTO shapes \
             VALUES {};\nSELECT COALESCE(HEX(ST_GeomFromText(text)), 'NULL') FROM shapes ORDER BY \
             id;\n",
            rows.join(", ")
        ))
        .unwrap();
    assert_eq!(report.lines().count(), cases.len());
    let format = Format::parse("wkt").unwrap();
    let (mut out, mut refused) = (Vec::new(), 0);
    for ((text, is_changed), theirs) in cases.iter().zip(report.lines()) {
        let meaning = format.read(text, &mut out);
        let shown = String::from_utf8_lossy(text);
        let is_empty = text.trim_ascii().is_empty();
        // Only here are points of a MULTIPOINT read in parentheses.
        let spelling: String = shown.to_lowercase().split_whitespace().collect();
        let is_wider = spelling.contains("multipoint(") && theirs == "NULL";
        // The server also takes any byte for the first parenthesis, and drops text behind a shape.
        match meaning {
            Meaning::Text if is_empty || is_wider => {}
            Meaning::Text => {
                let ours: String = out.iter().map(|byte| format!("{byte:02X}")).collect();
                assert_eq!(ours, theirs, "{shown:?}; seed {seed}");
            }
            _ => {
                assert!(is_changed, "{shown:?} is {theirs} of the server; seed {seed}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "some texts are refused");
}

/// Writes a shape of a kind as people and programs do.
fn shape(kind: usize, random: &mut Random, text: &mut String) {
    const NAMES: [&str; 7] = [
        "Point",
        "LineString",
        "Polygon",
        "MultiPoint",
        "MultiLineString",
        "MultiPolygon",
        "GeometryCollection",
    ];
    text.push_str(&cased(NAMES[kind], random));
    blank(random, text);
    match kind {
        0 => in_parentheses(1, random, text, position),
        1 | 3 => in_parentheses(3, random, text, position),
        2 => in_parentheses(2, random, text, ring),
        4 => in_parentheses(3, random, text, |random, text| {
            in_parentheses(3, random, text, position);
        }),
        5 => in_parentheses(2, random, text, |random, text| in_parentheses(2, random, text, ring)),
        _ if random.chance(4) => text.push_str(random.pick(&[" EMPTY", " empty", "()", "( )"])),
        _ => in_parentheses(3, random, text, |random, text| {
            shape(random.below(6), random, text);
        }),
    }
}

fn in_parentheses(
    most: usize,
    random: &mut Random,
    text: &mut String,
    item: impl Fn(&mut Random, &mut String),
) {
    text.push('(');
    for number in 0..=random.below(most) {
        if number > 0 {
            text.push(',');
        }
        blank(random, text);
        item(random, text);
        blank(random, text);
    }
    text.push(')');
}

fn position(random: &mut Random, text: &mut String) {
    text.push_str(&number(random));
    text.push_str(random.pick(&[" ", "  ", "\t"]));
    text.push_str(&number(random));
}

fn ring(random: &mut Random, text: &mut String) {
    let mut first = String::new();
    position(random, &mut first);
    let mut others = String::new();
    for _ in 0..random.below(4) {
        position(random, &mut others);
        others.push(',');
    }
    text.push_str(&format!("({first},{others}{first})"));
}

fn number(random: &mut Random) -> String {
    let sign = random.pick(&["", "", "-", "+"]);
    let fraction = match random.below(3) {
        0 => String::new(),
        1 => ".".to_owned(),
        _ => format!(".{}", random.digits(1, 18)),
    };
    let exponent = match random.below(4) {
        0 => format!("{}{}", random.pick(&["e", "E", "e-", "E+"]), random.digits(1, 2)),
        _ => String::new(),
    };
    format!("{sign}{}{fraction}{exponent}", random.digits(1, 12))
}

fn blank(random: &mut Random, text: &mut String) {
    if random.chance(6) {
        text.push_str(random.pick(&[" ", "\t", "\r\n", "  "]));
    }
}
