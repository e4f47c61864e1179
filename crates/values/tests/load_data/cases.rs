//! Columns under test: types, charsets, SQL modes, time zones.

use values::{Charset, ShapeKind, SqlType, TextType, Zone};

use crate::ibd::Shape;
use crate::random::Random;
use crate::server::{SYSTEM_ZONE, Server};
use crate::texts::Family;

/// A column, the session it is loaded in, and what is loaded.
pub(crate) struct Case {
    pub(crate) sql_type: SqlType,
    /// As CREATE TABLE has it.
    pub(crate) declaration: String,
    pub(crate) file_charset: Charset,
    /// Flags besides those of strict mode.
    pub(crate) sql_mode: &'static str,
    pub(crate) time_zone: &'static str,
    family: Family,
    extra: Vec<String>,
}

impl Case {
    fn new(sql_type: SqlType, declaration: impl Into<String>, family: Family) -> Case {
        Case {
            sql_type,
            declaration: declaration.into(),
            file_charset: Charset::Utf8mb4,
            sql_mode: "",
            time_zone: "+00:00",
            family,
            extra: Vec::new(),
        }
    }

    fn file(self, file_charset: Charset) -> Case {
        Case { file_charset, ..self }
    }

    fn mode(self, sql_mode: &'static str) -> Case {
        Case { sql_mode, ..self }
    }

    fn at(self, time_zone: &'static str) -> Case {
        Case { time_zone, ..self }
    }

    fn extra(self, extra: Vec<String>) -> Case {
        Case { extra, ..self }
    }

    pub(crate) fn name(&self) -> String {
        let file = format!("{:?}", self.file_charset).to_lowercase();
        format!("{} [{file}] {} {}", self.declaration, self.sql_mode, self.time_zone)
    }

    pub(crate) fn texts(&self, random: &mut Random) -> Vec<Vec<u8>> {
        self.family.texts(&self.extra, random)
    }

    /// Texts that we refuse though the server stores them.
    ///
    /// DECIMAL: when more digits than its 81-digit buffer holds are shifted by an exponent and
    /// round up to a power of ten, the server misplaces the carry and stores another number.
    /// ENUM, SET: whether an accent counts is for the collation to say, which is learned from a
    /// server by another crate and not at hand here.
    pub(crate) fn is_refused_knowingly(&self, text: &[u8], is_mysql: bool) -> bool {
        if is_mysql && self.is_refused_of_mysql(text) {
            return true;
        }
        match &self.sql_type {
            SqlType::Decimal { .. } => {
                let nines = text.iter().filter(|&&byte| byte == b'9').count();
                nines >= 3 && text.iter().any(|byte| matches!(byte, b'e' | b'E'))
            }
            SqlType::Enum { text: kind, .. } | SqlType::Set { text: kind, .. } => {
                let lower = text.to_ascii_lowercase();
                let accent = !text.is_ascii() || lower.windows(3).any(|part| part == b"ete");
                accent && !kind.collation.ends_with("_bin")
            }
            _ => false,
        }
    }

    /// The same of MySQL alone.
    ///
    /// DECIMAL: texts longer than its buffer, of which leading zeros count or not. ENUM, SET: it cuts
    /// the text at bytes that are no character. TIME: it stores midnight for some texts that it cannot
    /// read. DATE, DATETIME, TIMESTAMP: a displacement of a value that is rounded to the next second.
    fn is_refused_of_mysql(&self, text: &[u8]) -> bool {
        match &self.sql_type {
            SqlType::Decimal { .. } => text.len() > 70,
            SqlType::Enum { .. } | SqlType::Set { .. } => std::str::from_utf8(text).is_err(),
            SqlType::Time { .. } if !text.is_ascii() => true,
            SqlType::Time { .. }
            | SqlType::Date
            | SqlType::DateTime { .. }
            | SqlType::Timestamp { .. } => has_displacement(text) && text.contains(&b'.'),
            _ => false,
        }
    }

    /// True if the column takes bytes that are no characters.
    pub(crate) fn takes_any_bytes(&self) -> bool {
        matches!(
            self.sql_type,
            SqlType::Binary { .. }
                | SqlType::VarBinary { .. }
                | SqlType::Blob { .. }
                | SqlType::Bit { .. }
                | SqlType::Geometry { .. }
        )
    }

    /// True if the server refuses values also with IGNORE, and does not say in which row.
    pub(crate) fn is_loaded_singly(&self) -> bool {
        matches!(self.sql_type, SqlType::Geometry { .. } | SqlType::Vector { .. })
    }

    /// The type without its CHECK, and the condition that rows must meet instead: the row numbers
    /// of LOAD DATA's warnings do not count rows that a CHECK refused.
    pub(crate) fn without_check(&self) -> (&str, &'static str) {
        match self.sql_type {
            SqlType::Json(_) if self.declaration == "JSON" => {
                ("LONGTEXT COLLATE utf8mb4_bin", "JSON_VALID(v)")
            }
            SqlType::Json(_) => {
                let plain = self.declaration.split(" CHECK").next();
                (plain.unwrap_or(&self.declaration), "JSON_VALID(v)")
            }
            _ => (&self.declaration, "TRUE"),
        }
    }

    pub(crate) fn zone(&self) -> Zone {
        match self.time_zone {
            "SYSTEM" => Zone::system_named(SYSTEM_ZONE).expect("a known zone"),
            name => Zone::parse(name).expect("a known zone"),
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        match &self.sql_type {
            SqlType::Char { chars, text } if text.charset.is_single_byte() => {
                Shape::Fixed(*chars as usize)
            }
            SqlType::Char { chars, text } | SqlType::VarChar { chars, text } => {
                match *chars as usize * text.charset.char_bytes_max() {
                    0..=255 => Shape::Short,
                    _ => Shape::Long,
                }
            }
            SqlType::VarBinary { bytes: 0..=255 } => Shape::Short,
            SqlType::VarBinary { .. }
            | SqlType::Text { .. }
            | SqlType::Blob { .. }
            | SqlType::Geometry { .. }
            | SqlType::Vector { .. }
            | SqlType::Json(_) => Shape::Long,
            SqlType::Binary { bytes } => Shape::Fixed(*bytes as usize),
            SqlType::Uuid | SqlType::Inet6 => Shape::Fixed(16),
            SqlType::Inet4 => Shape::Fixed(4),
            SqlType::Integer { bytes, .. } => Shape::Fixed(usize::from(*bytes)),
            SqlType::Decimal { precision, scale, .. } => {
                let part = |digits: usize| digits / 9 * 4 + [0, 1, 1, 2, 2, 3, 3, 4, 4][digits % 9];
                let scale = usize::from(*scale);
                Shape::Fixed(part(usize::from(*precision) - scale) + part(scale))
            }
            SqlType::Float { .. } => Shape::Fixed(4),
            SqlType::Double { .. } => Shape::Fixed(8),
            SqlType::Date => Shape::Fixed(3),
            SqlType::Time { digits } => Shape::Fixed(3 + usize::from(*digits).div_ceil(2)),
            SqlType::DateTime { digits } => Shape::Fixed(5 + usize::from(*digits).div_ceil(2)),
            SqlType::Timestamp { digits } => Shape::Fixed(4 + usize::from(*digits).div_ceil(2)),
            SqlType::Year => Shape::Fixed(1),
            SqlType::Bit { bits } => Shape::Fixed(usize::from(*bits).div_ceil(8)),
            SqlType::Enum { labels, .. } => Shape::Fixed(1 + usize::from(labels.len() > 255)),
            SqlType::Set { labels, .. } => match labels.len().div_ceil(8) {
                few @ 0..=4 => Shape::Fixed(few),
                _ => Shape::Fixed(8),
            },
            SqlType::Document => unreachable!("of MySQL"),
            SqlType::Opaque { declared, .. } => unreachable!("{declared} is not converted"),
        }
    }
}

/// True if a time is followed by a displacement from UTC.
pub(crate) fn has_displacement(text: &[u8]) -> bool {
    let at = text.iter().rposition(|byte| matches!(byte, b'+' | b'-'));
    at.is_some_and(|at| text[at..].contains(&b':'))
}

/// Cases of the types that MySQL has.
pub(crate) fn of_mysql(server: &Server) -> Vec<Case> {
    let mut cases = numbers();
    cases.retain(|case| !matches!(case.sql_type, SqlType::Decimal { scale: 31.., .. }));
    cases.extend(clocks(&DATE_MODES_MYSQL));
    cases.extend(timestamps(server, &DATE_MODES_MYSQL));
    for zone in ["SYSTEM", "+05:30", "Europe/Berlin"] {
        if zone.contains('/') && !matches!(server.load_zone(zone), Ok(true)) {
            continue;
        }
        let displaced: Vec<String> = around_changes()
            .iter()
            .step_by(7)
            .flat_map(|text| ["+00:00", "-03:30", "+14:00"].map(|offset| format!("{text}{offset}")))
            .collect();
        for (sql_type, name) in [
            (SqlType::Date, "DATE"),
            (SqlType::DateTime { digits: 0 }, "DATETIME(0)"),
            (SqlType::Time { digits: 0 }, "TIME(0)"),
            (SqlType::Timestamp { digits: 0 }, "TIMESTAMP(0)"),
        ] {
            let case = Case::new(sql_type, name, Family::Clock).at(zone);
            cases.push(case.extra(displaced.clone()));
        }
    }
    cases.extend(strings("utf8mb4_0900_ai_ci"));
    cases.extend(labels());
    cases.extend(bits());
    cases.extend(shapes());
    cases
}

/// All cases; those of named zones only if the server could be given them.
pub(crate) fn all(server: &Server) -> Vec<Case> {
    let mut cases = numbers();
    cases.extend(clocks(&DATE_MODES));
    cases.extend(timestamps(server, &DATE_MODES));
    cases.extend(strings("utf8mb4_uca1400_ai_ci"));
    cases.extend(labels());
    for file in [Charset::Utf8mb4, Charset::Latin1, Charset::Binary] {
        let types = [
            (SqlType::Uuid, "UUID", Family::Uuid),
            (SqlType::Inet4, "INET4", Family::Inet4),
            (SqlType::Inet6, "INET6", Family::Inet6),
        ];
        for (sql_type, name, family) in types {
            let family = if file == Charset::Binary { Family::Bytes(8) } else { family };
            cases.push(Case::new(sql_type, name, family).file(file));
        }
    }
    cases.extend(bits());
    cases.push(Case::new(SqlType::json(), "JSON", Family::Json));
    // As CONVERT TO CHARACTER SET leaves it, and as some declare it.
    for (charset, collation) in
        [(Charset::Utf8mb3, "utf8mb3_general_ci"), (Charset::Utf8mb4, "utf8mb4_unicode_ci")]
    {
        let text = TextType { charset, collation: collation.to_owned() };
        let declaration = format!("LONGTEXT COLLATE {collation} CHECK (JSON_VALID(v))");
        cases.push(Case::new(SqlType::Json(text), &declaration, Family::Json));
    }
    cases.push(Case::new(SqlType::json(), "JSON", Family::Json).file(Charset::Latin1));
    cases
}

/// Columns of GEOMETRY and VECTOR.
fn shapes() -> Vec<Case> {
    let geometry = |declaration: &str| {
        let (name, srid) = match declaration.split_once(" SRID ") {
            Some((name, srid)) => (name, srid.parse().ok()),
            None => (declaration, None),
        };
        let sql_type = SqlType::Geometry { kind: ShapeKind::named(name), srid };
        Case::new(sql_type, declaration, Family::Shapes).file(Charset::Binary)
    };
    let mut cases: Vec<Case> = [
        "GEOMETRY",
        "POINT",
        "LINESTRING",
        "POLYGON",
        "MULTIPOINT",
        "MULTILINESTRING",
        "MULTIPOLYGON",
        "GEOMETRYCOLLECTION",
        "GEOMETRY SRID 4326",
        "POINT SRID 0",
    ]
    .map(geometry)
    .into();
    cases.extend([Charset::Utf8mb4, Charset::Latin1].map(|file| geometry("GEOMETRY").file(file)));
    cases.extend([1, 3, 400].map(|dimensions| {
        let name = format!("VECTOR({dimensions})");
        let family = Family::Floats(dimensions as usize);
        Case::new(SqlType::Vector { dimensions }, name, family).file(Charset::Binary)
    }));
    cases
}

fn bits() -> Vec<Case> {
    let case = |bits: u8| {
        let size = usize::from(bits).div_ceil(8);
        Case::new(SqlType::Bit { bits }, format!("BIT({bits})"), Family::Bytes(size))
    };
    [1, 5, 8, 10, 33, 64].map(case).into()
}

fn numbers() -> Vec<Case> {
    let mut cases = Vec::new();
    for unsigned in [false, true] {
        let sign = if unsigned { " UNSIGNED" } else { "" };
        for (bytes, name) in
            [(1, "TINYINT"), (2, "SMALLINT"), (3, "MEDIUMINT"), (4, "INT"), (8, "BIGINT")]
        {
            let sql_type = SqlType::Integer { bytes, unsigned };
            cases.push(Case::new(sql_type, format!("{name}{sign}"), Family::Number));
        }
        for (precision, scale) in [
            (1, 0),
            (2, 2),
            (4, 2),
            (9, 9),
            (10, 0),
            (15, 2),
            (18, 9),
            (18, 4),
            (18, 18),
            (19, 0),
            (30, 10),
            (38, 38),
            (65, 0),
            (65, 30),
            (65, 38),
        ] {
            let sql_type = SqlType::Decimal { precision, scale, unsigned };
            let name = format!("DECIMAL({precision},{scale}){sign}");
            cases.push(Case::new(sql_type, name, Family::Number));
        }
        let float = SqlType::Float { unsigned, digits: None };
        cases.push(Case::new(float, format!("FLOAT{sign}"), Family::Number));
        let double = SqlType::Double { unsigned, digits: None };
        cases.push(Case::new(double, format!("DOUBLE{sign}"), Family::Number));
    }
    for (m, d) in [(7, 3), (5, 0), (20, 10), (4, 4)] {
        let float = SqlType::Float { unsigned: false, digits: Some((m, d)) };
        cases.push(Case::new(float, format!("FLOAT({m},{d})"), Family::Number));
    }
    for (m, d) in [(10, 2), (5, 0), (30, 20), (255, 30), (3, 3)] {
        let double = SqlType::Double { unsigned: false, digits: Some((m, d)) };
        cases.push(Case::new(double, format!("DOUBLE({m},{d})"), Family::Number));
    }
    for file in [Charset::Latin1, Charset::Binary, Charset::Ascii, Charset::Utf8mb3] {
        let int = SqlType::Integer { bytes: 4, unsigned: false };
        cases.push(Case::new(int, "INT", Family::Number).file(file));
        let decimal = SqlType::Decimal { precision: 15, scale: 2, unsigned: false };
        cases.push(Case::new(decimal, "DECIMAL(15,2)", Family::Number).file(file));
        let double = SqlType::Double { unsigned: false, digits: None };
        cases.push(Case::new(double, "DOUBLE", Family::Number).file(file));
    }
    cases.push(Case::new(SqlType::Year, "YEAR", Family::Number));
    cases.push(Case::new(SqlType::Year, "YEAR", Family::Number).file(Charset::Latin1));
    cases
}

/// SQL modes that dates depend on.
const DATE_MODES: [&str; 8] = [
    "",
    "NO_ZERO_DATE",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE,NO_ZERO_IN_DATE",
    "ALLOW_INVALID_DATES",
    "TIME_ROUND_FRACTIONAL",
    "TIME_ROUND_FRACTIONAL,ALLOW_INVALID_DATES",
    "TIME_ROUND_FRACTIONAL,NO_ZERO_DATE,NO_ZERO_IN_DATE",
];

/// The same on MySQL, which rounds where nobody says otherwise.
const DATE_MODES_MYSQL: [&str; 8] = [
    "",
    "NO_ZERO_DATE",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE,NO_ZERO_IN_DATE",
    "ALLOW_INVALID_DATES",
    "TIME_TRUNCATE_FRACTIONAL",
    "TIME_TRUNCATE_FRACTIONAL,ALLOW_INVALID_DATES",
    "TIME_TRUNCATE_FRACTIONAL,NO_ZERO_DATE,NO_ZERO_IN_DATE",
];

fn clocks(modes: &[&'static str; 8]) -> Vec<Case> {
    let mut cases = Vec::new();
    for &mode in modes {
        cases.push(Case::new(SqlType::Date, "DATE", Family::Clock).mode(mode));
        for digits in [0, 3] {
            let name = format!("DATETIME({digits})");
            cases.push(Case::new(SqlType::DateTime { digits }, name, Family::Clock).mode(mode));
            let name = format!("TIME({digits})");
            cases.push(Case::new(SqlType::Time { digits }, name, Family::Clock).mode(mode));
        }
    }
    for digits in [1, 2, 4, 5, 6] {
        for mode in [modes[0], modes[5]] {
            let name = format!("DATETIME({digits})");
            cases.push(Case::new(SqlType::DateTime { digits }, name, Family::Clock).mode(mode));
            let name = format!("TIME({digits})");
            cases.push(Case::new(SqlType::Time { digits }, name, Family::Clock).mode(mode));
        }
    }
    for file in [Charset::Latin1, Charset::Binary] {
        cases.push(Case::new(SqlType::Date, "DATE", Family::Clock).file(file));
        cases.push(Case::new(SqlType::Time { digits: 2 }, "TIME(2)", Family::Clock).file(file));
    }
    cases
}

fn timestamps(server: &Server, modes: &[&'static str; 8]) -> Vec<Case> {
    let mut zones = vec!["+00:00", "+05:30", "-12:59", "SYSTEM"];
    for name in ["Europe/Berlin", "America/New_York", "Pacific/Apia", "Australia/Lord_Howe"] {
        match server.load_zone(name) {
            Ok(true) => zones.push(name),
            other => println!("skipped: the server has no zone {name} ({other:?})"),
        }
    }
    let mut cases = Vec::new();
    let mut push = |digits, mode, zone| {
        let name = format!("TIMESTAMP({digits})");
        let sql_type = SqlType::Timestamp { digits };
        let case = Case::new(sql_type, name, Family::Clock).mode(mode).at(zone);
        cases.push(case.extra(around_changes()));
    };
    for zone in zones {
        push(0, "", zone);
        push(6, "", zone);
        push(2, modes[5], zone);
    }
    for &mode in modes {
        push(1, mode, "+00:00");
        push(0, mode, "SYSTEM");
    }
    cases
}

/// Every quarter of an hour of days on which a clock under test changes, or the range ends.
fn around_changes() -> Vec<String> {
    let mut texts = Vec::new();
    for day in [
        "1970-01-01",
        "1980-04-06",
        "1980-09-28",
        "2011-12-29",
        "2011-12-30",
        "2011-12-31",
        "2024-03-10",
        "2024-03-31",
        "2024-04-07",
        "2024-10-06",
        "2024-10-27",
        "2024-11-03",
        "2038-01-18",
        "2038-01-19",
    ] {
        for quarter in 0..96 {
            texts.push(format!("{day} {:02}:{:02}:00", quarter / 4, quarter % 4 * 15));
            texts.push(format!("{day} {:02}:{:02}:59.9", quarter / 4, quarter % 4 * 15 + 14));
        }
    }
    texts
}

fn text(collation: &str) -> TextType {
    TextType {
        charset: Charset::of_collation(collation).expect("a known charset"),
        collation: collation.into(),
    }
}

/// The declaration of a character type with its charset and collation.
fn declared(what: &str, text: &TextType) -> String {
    let charset = match text.charset {
        Charset::Ascii => "ascii",
        Charset::Latin1 => "latin1",
        Charset::Utf8mb3 => "utf8mb3",
        _ => "utf8mb4",
    };
    format!("{what} CHARACTER SET {charset} COLLATE {}", text.collation)
}

fn strings(newest: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let files =
        [Charset::Utf8mb4, Charset::Utf8mb3, Charset::Latin1, Charset::Ascii, Charset::Binary];
    for file in files {
        for collation in
            ["latin1_swedish_ci", "ascii_general_ci", "utf8mb3_general_ci", "utf8mb4_general_ci"]
        {
            for chars in [5, 70] {
                let varchar = SqlType::VarChar { chars, text: text(collation) };
                let name = declared(&format!("VARCHAR({chars})"), &text(collation));
                cases.push(Case::new(varchar, name, Family::Text(chars as usize)).file(file));
            }
            let char5 = SqlType::Char { chars: 5, text: text(collation) };
            let name = declared("CHAR(5)", &text(collation));
            cases.push(Case::new(char5, name, Family::Text(5)).file(file));
            let tiny = SqlType::Text { bytes_max: 255, text: text(collation) };
            let name = declared("TINYTEXT", &text(collation));
            cases.push(Case::new(tiny, name, Family::Text(255)).file(file));
        }
        cases.push(
            Case::new(SqlType::Binary { bytes: 5 }, "BINARY(5)", Family::Bytes(5)).file(file),
        );
        let varbinary = SqlType::VarBinary { bytes: 5 };
        cases.push(Case::new(varbinary, "VARBINARY(5)", Family::Text(5)).file(file));
        let tiny = SqlType::Blob { bytes_max: 255 };
        cases.push(Case::new(tiny, "TINYBLOB", Family::Bytes(255)).file(file));
    }
    for chars in [0, 255] {
        let utf8 = text(newest);
        let name = declared(&format!("CHAR({chars})"), &utf8);
        let sql_type = SqlType::Char { chars, text: utf8 };
        cases.push(Case::new(sql_type, name, Family::Text(chars as usize)));
    }
    let medium = SqlType::Text { bytes_max: 0xff_ffff, text: text("utf8mb4_bin") };
    let name = declared("MEDIUMTEXT", &text("utf8mb4_bin"));
    cases.push(Case::new(medium, name, Family::Text(100)));
    cases
}

fn labels() -> Vec<Case> {
    let own = |labels: &[&str]| labels.iter().map(|label| label.to_string()).collect::<Vec<_>>();
    let colours = own(&["red", "Green", "blue", "a b", "7", "\u{e9}t\u{e9}"]);
    let with_empty = own(&["red", "", "blue"]);
    let many: Vec<String> = (1..=300).map(|i| format!("label{i}")).collect();
    let mut cases = Vec::new();
    for collation in [
        "latin1_swedish_ci",
        "utf8mb4_general_ci",
        "utf8mb4_bin",
        "latin1_bin",
        "utf8mb3_general_ci",
    ] {
        for file in [Charset::Utf8mb4, Charset::Latin1, Charset::Binary] {
            for labels in [&colours, &with_empty, &many] {
                let kind = SqlType::Enum { labels: labels.clone(), text: text(collation) };
                cases.push(label_case("ENUM", labels, collation, kind, file));
            }
            for labels in [&colours, &with_empty] {
                let kind = SqlType::Set { labels: labels.clone(), text: text(collation) };
                cases.push(label_case("SET", labels, collation, kind, file));
            }
        }
    }
    for count in [8, 9, 24, 33, 63, 64] {
        let labels: Vec<String> = (1..=count).map(|i| format!("m{i}")).collect();
        let collation = "utf8mb4_general_ci";
        let kind = SqlType::Set { labels: labels.clone(), text: text(collation) };
        cases.push(label_case("SET", &labels, collation, kind, Charset::Utf8mb4));
    }
    cases
}

fn label_case(
    what: &str,
    labels: &[String],
    collation: &str,
    sql_type: SqlType,
    file: Charset,
) -> Case {
    let quoted: Vec<String> = labels.iter().map(|label| format!("'{label}'")).collect();
    let name = declared(&format!("{what}({})", quoted.join(",")), &text(collation));
    Case::new(sql_type, name, Family::Labels).file(file)
}
