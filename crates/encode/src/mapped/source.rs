//! The source of one table's rows: that of the lines, seen otherwise.

use std::path::PathBuf;
use std::sync::Arc;

use sources::{
    Batch, Chunk, Error, InputFacts, InputFile, Layout, LineFields, PickedField, PositionCursor,
    ReadAs, Reader, Result, Source, SourceExt as _, Start,
};

use super::column_values::ColumnValues;
use super::own::OwnLines;
use super::picking::Picker;
use super::resolved::{Lines, Resolved};
use super::{LinePlace, Share};

/// Chunks without a line that counts behind which one is given all the same.
const SKIPPED_MAX: usize = 64;

/// The rows of one table.
pub(super) struct MappedSource {
    input: Box<dyn Source>,
    share: Share,
    lines: Arc<Lines>,
    resolved: Arc<Resolved>,
    files: Arc<Vec<(PathBuf, Vec<u8>)>>,
    facts: InputFacts,
    /// The columns that fields go to, where they are those of the header.
    header: Option<Vec<Vec<u8>>>,
    /// Chunks so far, and the end of the last one that was read, of files as they are.
    count: u64,
    read_to: LinePlace,
}

impl MappedSource {
    /// A mapping of an unread source of lines.
    ///
    /// Errors: fields that lines do not have; reading the first of them.
    pub(super) fn new(mut input: Box<dyn Source>, share: &Share) -> Result<MappedSource> {
        if input.facts().layout != Layout::Separated {
            return Err(Error::Dialect(
                "a job file needs lines with separated fields; a file with fixed-width fields can \
                 only be loaded into one table"
                    .to_owned(),
            ));
        }
        let lines = Lines::of(&mut *input, share.mapping.fields.as_deref())?;
        if input.facts().makes_lines {
            // Moments among its fields are known from then on.
            input.start()?;
        }
        input.change(|read_as| read_as.fields = lines.kinds())?;
        let resolved = Resolved::new(&share.mapping, &lines)?;
        let file = |file: &InputFile| {
            let name = file.path.file_name().unwrap_or(file.path.as_os_str());
            (file.path.clone(), name.as_encoded_bytes().to_vec())
        };
        let files = input.files().iter().map(file).collect();
        let is_named = share.mapping.columns.is_some();
        // It is one reading: how far it is, and whether it is given up, are those of the input.
        let facts = InputFacts {
            words: format!("{} {:?}", input.facts().words, share.mapping),
            has_header: !is_named,
            ..input.facts().clone()
        };
        let names = || lines.names().iter().map(|name| name.clone().into_bytes()).collect();
        let mut source = MappedSource {
            header: (!is_named).then(names),
            files: Arc::new(files),
            input,
            share: share.clone(),
            lines: Arc::new(lines),
            resolved: Arc::new(resolved),
            facts,
            count: 0,
            read_to: (0, 0),
        };
        if source.facts.makes_lines {
            source.restart()?;
        }
        Ok(source)
    }

    /// Has all read of typed rows that lines and their columns need.
    ///
    /// Errors: fields that lines do not have.
    fn make_lines(&mut self, read_as: &ReadAs) -> Result<()> {
        let Share { mapping, known, .. } = &self.share;
        let mut read = LineFields::new(self.lines.names());
        read.ignores_unknown = mapping.columns.is_some();
        let values = ColumnValues::of(read_as);
        values.add_row_to(&mut read, mapping, &self.lines)?;
        for (key, _) in known {
            key.add_to(&mut read, &self.lines)?;
        }
        let mut resolved = Resolved::new(mapping, &self.lines)?;
        values.give(&read, &mut resolved);
        self.resolved = Arc::new(resolved);
        self.lines = Arc::new(self.lines.made_of(read));
        Ok(())
    }

    /// The fields of rows that get moments as clocks in UTC show them.
    fn utc_fields(&self) -> Vec<usize> {
        let utc = &self.input.facts().utc_fields;
        let is_utc = |field: &PickedField| match field {
            PickedField::Typed { value, .. } => utc.contains(value),
            _ => false,
        };
        let fields = &self.resolved.fields;
        (0..fields.len()).filter(|at| is_utc(&fields[*at])).collect()
    }

    /// The next chunk that has lines of those, with hardly any others.
    fn next_own(&mut self, own: &OwnLines, chunk: &mut Chunk) -> Result<bool> {
        let mut skipped = 0;
        while !own.end_before(self.read_to) && self.input.next_chunk(chunk)? {
            self.read_to = match chunk.first_record {
                // The rows before it: how many it has, only its reader knows.
                Some(first) => (chunk.file, PositionCursor::numbered(first + 1)),
                None => (chunk.file, chunk.offset_at(chunk.bytes.len())),
            };
            // Now and then who reads is to be asked whether to go on.
            if skipped < SKIPPED_MAX && own.leave_in(chunk).is_err() {
                let (path, _) = self.files.get(chunk.file as usize).cloned().unwrap_or_default();
                let what = "changed while it was read".to_owned();
                return Err(Error::Changed { path, what });
            }
            if chunk.bytes.is_empty() {
                skipped += 1;
                continue;
            }
            chunk.ordinal = self.count;
            self.count += 1;
            return Ok(true);
        }
        chunk.clear();
        Ok(false)
    }
}

impl Source for MappedSource {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    /// Where a field goes, says the mapping; of lines it is known which fields they have.
    fn begin(&mut self, read_as: ReadAs) -> Result<()> {
        (self.count, self.read_to) = (0, (0, 0));
        let fields = self.lines.kinds();
        let plain =
            ReadAs { fields, formats: Arc::default(), joins_files: false, ..read_as.clone() };
        if self.facts.makes_lines {
            self.make_lines(&read_as)?;
            // Records, their texts and their values are in memory at once.
            let chunk_bytes = (plain.chunk_bytes / 2).max(1);
            self.input.begin(ReadAs {
                columns: Vec::new(),
                keys: Arc::default(),
                late_names: Arc::default(),
                lines: self.lines.read(),
                chunk_bytes,
                ..plain
            })?;
            self.facts.utc_fields = self.utc_fields();
        } else {
            self.input.begin(plain)?;
        }
        self.facts.begin(read_as);
        Ok(())
    }

    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        match self.share.own.clone() {
            Some(own) => self.next_own(&own, chunk),
            None => self.input.next_chunk(chunk),
        }
    }

    fn reader(&self) -> Box<dyn Reader> {
        let MappedSource { share, lines, resolved, files, facts, .. } = self;
        let picker = Picker::new(share, lines, resolved, files, &facts.read_as.formats);
        Box::new(MappedReader { input: self.input.reader(), picker: picker.map_err(Some) })
    }

    fn start(&mut self) -> Result<Start> {
        let start = self.input.start()?;
        Ok(Start { names: self.header.clone(), ..start })
    }
}

struct MappedReader {
    input: Box<dyn Reader>,
    /// The error for which it cannot be made is reported at the first batch.
    picker: std::result::Result<Picker, Option<Error>>,
}

impl Reader for MappedReader {
    fn read(&mut self, chunk: &Chunk, batch: &mut Batch) -> Result<()> {
        let picker = match &mut self.picker {
            Ok(picker) => picker,
            Err(error) => {
                let again = || Error::Dialect("the fields of lines are unknown".to_owned());
                return Err(error.take().unwrap_or_else(again));
            }
        };
        let mut picked = batch.unpick().unwrap_or_default();
        self.input.read(chunk, batch)?;
        let Some(rows) = batch.text_rows(chunk) else {
            return Err(Error::Dialect("job files need lines of fields".to_owned()));
        };
        picker.pick(chunk, rows, &mut picked)?;
        batch.pick(picked);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use sources::{Dialect, Encoding, FileSource, Row, Rows, SourceOptions, Visit};

    use super::super::gathering::LineAt;
    use super::super::mapping::{Entity, From, Mapping};
    use super::*;

    const LINES: u64 = 20_000;
    /// Lines that stand for rows: with a gap of hundreds of chunks, and not the last ones.
    const OWN: [u64; 7] = [0, 1, 2, 300, 301, 15_000, 15_001];
    /// Bytes of a line.
    const LINE_BYTES: u64 = 10;

    /// Line, byte and id of each row of a chunk.
    struct ChunkView<'c>(&'c Chunk);

    impl Visit for ChunkView<'_> {
        type Output = Vec<(u64, u64, String)>;

        fn rows<R: Rows>(self, rows: R) -> Self::Output {
            let mut scratch = Vec::new();
            let id = |row: R::Row, scratch: &mut Vec<u8>| {
                let mut text = Vec::new();
                let text = row.value(1, scratch).text(&mut text).unwrap_or_default();
                String::from_utf8_lossy(text).into_owned()
            };
            let one = |row: R::Row| {
                let at = row.start();
                (self.0.line_at(at), self.0.offset_at(at), id(row, &mut scratch))
            };
            rows.iter().map(one).collect()
        }
    }

    /// The rows of an entity whose lines are those, and how many chunks they came in.
    fn rows(options: SourceOptions, text: &[u8], unit: u64) -> (Vec<(u64, u64, String)>, u64) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines.csv");
        std::fs::write(&path, text).unwrap();
        let input = FileSource::new(&[path], &Dialect::csv(), options).unwrap();
        let entity = Entity {
            key: vec!["k".into()],
            id: Some("id".into()),
            on_conflict: Default::default(),
        };
        let columns = vec![("k".to_owned(), From::Field("k".to_owned()))];
        let mapping = Mapping {
            fields: Some(vec!["k".to_owned()]),
            columns: Some(columns),
            entity: Some(entity),
            ..Mapping::default()
        };
        let line = |line: u64| LineAt {
            file: 0,
            offset: line * LINE_BYTES * unit,
            line: line + 1,
            bytes: LINE_BYTES as u32,
        };
        let own = OwnLines::new(OWN.map(|number| (line(number), number + 1000)).to_vec());
        let share =
            Share { mapping: Arc::new(mapping), own: Some(Arc::new(own)), ..Share::default() };
        let mut source = MappedSource::new(Box::new(input), &share).unwrap();
        let (mut chunk, mut batch, mut seen, mut count) =
            (Chunk::default(), Batch::new(), Vec::new(), 0);
        for _ in 0..2 {
            // As often as it is begun again.
            source.restart().unwrap();
            (seen, count) = (Vec::new(), 0);
            let mut reader = source.reader();
            while source.next_chunk(&mut chunk).unwrap() {
                assert_eq!((chunk.ordinal, chunk.bytes.is_empty()), (count, false));
                count += 1;
                reader.read(&chunk, &mut batch).unwrap();
                seen.extend(batch.visit(&chunk, ChunkView(&chunk)));
            }
        }
        (seen, count)
    }

    fn text() -> String {
        (0..LINES).map(|line| format!("{line:09}\n")).collect()
    }

    fn expected(unit: u64) -> Vec<(u64, u64, String)> {
        let row = |line: u64| (line + 1, line * LINE_BYTES * unit, (line + 1000).to_string());
        OWN.map(row).to_vec()
    }

    #[test]
    fn of_an_entity_its_own_lines_are_read_and_nothing_behind_them() {
        let options = SourceOptions { chunk_bytes: 256, ..SourceOptions::default() };
        let (seen, count) = rows(options, text().as_bytes(), 1);
        assert_eq!(seen, expected(1));
        // Those that have them, and of 588 between them one in 64.
        assert!((4..30).contains(&count), "{count}");
        let (seen, count) = rows(SourceOptions::default(), text().as_bytes(), 1);
        assert_eq!((seen, count), (expected(1), 1));
    }

    #[test]
    fn lines_of_files_in_utf_16_are_found_too() {
        let utf16: Vec<u8> = text().encode_utf16().flat_map(u16::to_be_bytes).collect();
        let encoding = Encoding::Utf16;
        let options = SourceOptions { chunk_bytes: 256, encoding, ..SourceOptions::default() };
        let (seen, count) = rows(options, &utf16, 2);
        assert_eq!(seen, expected(2));
        assert!(count > 500, "{count}");
    }
}
