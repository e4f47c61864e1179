//! A Parquet file: row groups, of which any rows of any columns can be decoded.
//!
//! Source: Apache Parquet's format, by the crate `parquet`. Sizes that the file claims are examined before
//! they are believed, and panics stay inside the row group.

mod calendar;
mod footer;
mod geometry;
mod int96;
mod nesting;
mod part;
mod positioned;
mod read_schema;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef, TimeUnit};
use locks::Mutex;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Compression;
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use sources::FoundInput;

use self::int96::WithNanos;
use self::part::RowGroup;
use self::positioned::Positioned;
use crate::file::{OpenPart, Part, TypedFile, are_plain, fingerprint};
use crate::guard::{Problem, guard, problem};
use crate::page_headers::Pages;

/// Bytes of a value of fixed width as a typed one, and of the end of one of any width.
const VALUE_BYTES: u64 = 8;
/// Bytes of a text whose length nothing tells, such as one in a list.
const TEXT_BYTES: u64 = 16;

/// An open Parquet file.
pub(crate) struct ParquetFile {
    input: Positioned,
    metadata: ArrowReaderMetadata,
    /// Its columns; those of Spark's old calendar are marked.
    schema: SchemaRef,
    /// The same with INT96 in nanoseconds, and the columns of INT96.
    nanos: Option<(ArrowReaderMetadata, Vec<usize>)>,
    /// Fingerprint of the footer, which has sizes, places and often the least and largest values.
    fingerprint: u64,
    /// Some of its columns are encrypted.
    has_encrypted: bool,
    /// The pages of the columns of row groups that were examined.
    pages: Mutex<HashMap<(usize, usize), Pages>>,
}

impl ParquetFile {
    /// Opens a file and reads its footer.
    ///
    /// Errors: an input that cannot be read; a footer that is damaged; lists and structs with times of Spark's old
    /// calendar.
    pub(crate) fn open(input: &FoundInput) -> sources::Result<Result<ParquetFile, Problem>> {
        let input = Positioned::new(input.open()?)?;
        Ok(guard(|| ParquetFile::of(input)))
    }

    fn of(input: Positioned) -> Result<ParquetFile, Problem> {
        if input.begins_with(b"PARE") {
            return Err("the footer is encrypted, which is not supported".to_owned());
        }
        let footer = footer::read(&input)?;
        nesting::check(&footer)?;
        let options = ArrowReaderOptions::new();
        let plain = ArrowReaderMetadata::load(&input, options.clone()).map_err(problem)?;
        footer::check_one_file(&input, &footer, plain.metadata())?;
        let plain = with_rows_of_groups(plain, &options)?;
        let read_as = |unit| {
            let schema = read_schema::of(plain.schema(), plain.parquet_schema(), unit);
            let options = options.clone().with_schema(Arc::new(schema));
            ArrowReaderMetadata::try_new(Arc::clone(plain.metadata()), options)
        };
        let int96 = read_schema::int96_columns(plain.parquet_schema());
        let nanos = match int96.is_empty() {
            true => None,
            false => Some((read_as(TimeUnit::Nanosecond).map_err(problem)?, int96)),
        };
        // A file's own Arrow schema may ask for what the reader cannot do: it is read without then.
        let metadata = read_as(TimeUnit::Microsecond).unwrap_or(plain);
        let schema = geometry::with_srids(&calendar::marked(&metadata)?, &metadata);
        let fingerprint = fingerprint(input.bytes(), &footer);
        let has_encrypted = footer::has_encrypted_columns(&footer);
        let pages = Mutex::default();
        Ok(ParquetFile { input, metadata, schema, nanos, fingerprint, has_encrypted, pages })
    }

    fn groups(&self) -> &ParquetMetaData {
        self.metadata.metadata()
    }

    /// The leaves of the Parquet schema that are below a column.
    fn leaves(&self, column: usize) -> impl Iterator<Item = usize> + '_ {
        let schema = self.metadata.parquet_schema();
        (0..schema.num_columns()).filter(move |leaf| schema.get_column_root_idx(*leaf) == column)
    }

    /// The pages of a leaf in a row group, examined once.
    fn pages(&self, group: usize, leaf: usize) -> Result<Pages, Problem> {
        let mut known = self.pages.lock();
        if let Some(pages) = known.get(&(group, leaf)) {
            return Ok(*pages);
        }
        let column = self.groups().row_group(group).column(leaf);
        let name = column.column_path().string();
        let pages = guard(|| {
            check_compression(column.compression())?;
            let (start, bytes) = column.byte_range();
            let end = start.saturating_add(bytes);
            if end > self.input.bytes() {
                return Err("the column goes on behind the end of the file".to_owned());
            }
            let pages = Pages::walk(self.input.input(), start, end)?;
            match u64::try_from(column.num_values()) {
                Ok(values) if values == pages.values => Ok(pages),
                _ => Err("its pages have other numbers of values than its column".to_owned()),
            }
        });
        let pages = pages.map_err(|problem| match self.has_encrypted {
            true => format!("column `{name}`: it is encrypted, which is not supported"),
            false => format!("column `{name}`: {problem}"),
        })?;
        known.insert((group, leaf), pages);
        Ok(pages)
    }

    /// The columns of INT96 among some.
    fn int96(&self, columns: &[usize]) -> Vec<usize> {
        let all = self.nanos.as_ref().map_or(&[][..], |(_, int96)| int96);
        columns.iter().copied().filter(|column| all.contains(column)).collect()
    }

    /// Bytes of a column's values for a row, as typed ones.
    fn value_bytes(&self, group: usize, column: usize, rows: u64) -> Result<u64, Problem> {
        let data_type = self.schema().field(column).data_type();
        let bytes = match data_type {
            DataType::Boolean => return Ok(VALUE_BYTES),
            DataType::Decimal128(..) => return Ok(2 * VALUE_BYTES),
            fixed if fixed.is_primitive() => return Ok(VALUE_BYTES),
            _ => self.leaves(column).map(|leaf| Ok(text_bytes(self.pages(group, leaf)?, rows))),
        };
        bytes.sum::<Result<u64, Problem>>().map(|bytes| bytes + VALUE_BYTES)
    }

    /// Memory that decoding some columns takes.
    fn decoding_bytes(&self, group: usize, columns: &[usize]) -> Result<u64, Problem> {
        let leaves = columns.iter().flat_map(|column| self.leaves(*column));
        let bytes = leaves.map(|leaf| {
            let pages = self.pages(group, leaf)?;
            Ok(pages.page_bytes.saturating_add(pages.dictionary_bytes.saturating_mul(2)))
        });
        bytes.sum()
    }
}

/// Bytes of a text for a row: by the dictionary's texts where there is one, else by all that is in the pages.
fn text_bytes(pages: Pages, rows: u64) -> u64 {
    let of_row = pages.data_bytes / rows.max(1);
    match pages.dictionary_values {
        0 => of_row,
        values => {
            let of_value = pages.dictionary_bytes / values;
            let repeated = pages.values.div_ceil(rows.max(1));
            of_row.max(of_value.saturating_mul(repeated)).max(TEXT_BYTES)
        }
    }
}

/// Refuses compressions that this program does not unpack.
fn check_compression(compression: Compression) -> Result<(), Problem> {
    let name = match compression {
        Compression::BROTLI(_) => "Brotli",
        Compression::LZO => "LZO",
        _ => return Ok(()),
    };
    Err(format!(
        "it is compressed by {name}, which is not supported; write the file with zstd or snappy"
    ))
}

/// The metadata with the rows of all row groups, as old files of Rust do not have them: the decoder reads no more rows
/// than the file says.
fn with_rows_of_groups(
    metadata: ArrowReaderMetadata,
    options: &ArrowReaderOptions,
) -> Result<ArrowReaderMetadata, Problem> {
    let all = metadata.metadata();
    let file = all.file_metadata();
    let mut rows = all.row_groups().iter().map(|group| group.num_rows());
    let rows = rows.try_fold(0i64, |sum, rows| sum.checked_add(rows));
    let rows = rows.ok_or("its row groups have more rows than there can be")?;
    if rows == file.num_rows() {
        return Ok(metadata);
    }
    let file = FileMetaData::new(
        file.version(),
        rows,
        file.created_by().map(str::to_owned),
        file.key_value_metadata().cloned(),
        file.schema_descr_ptr(),
        file.column_orders().cloned(),
    );
    let all = ParquetMetaData::new(file, all.row_groups().to_vec());
    ArrowReaderMetadata::try_new(Arc::new(all), options.clone()).map_err(problem)
}

impl TypedFile for ParquetFile {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn part(&self, index: usize, columns: &[usize]) -> Result<Option<Part>, Problem> {
        if index >= self.groups().num_row_groups() {
            return Ok(None);
        }
        let group = self.groups().row_group(index);
        let rows = u64::try_from(group.num_rows()).map_err(|_| "its number of rows is negative")?;
        let row_bytes = columns.iter().map(|column| self.value_bytes(index, *column, rows));
        let row_bytes = row_bytes.sum::<Result<u64, Problem>>()?;
        let end = guard(|| {
            let ends = group.columns().iter().map(|column| {
                let (start, bytes) = column.byte_range();
                start.saturating_add(bytes)
            });
            Ok(ends.max().unwrap_or_default())
        })?;
        Ok(Some(Part {
            rows,
            first_row: None,
            row_bytes,
            end: end.min(self.input.bytes()),
            fingerprint: self.fingerprint,
        }))
    }

    fn part_bytes(&self, part: usize, columns: &[usize]) -> Result<u64, Problem> {
        Ok(self.decoding_bytes(part, columns)? + self.decoding_bytes(part, &self.int96(columns))?)
    }

    fn open_part(&self, part: usize, columns: &[usize]) -> Result<Box<dyn OpenPart>, Problem> {
        let group = |metadata: &ArrowReaderMetadata, columns: &[usize]| {
            RowGroup::new(self.input.clone(), metadata.clone(), part, columns)
        };
        let micros = group(&self.metadata, columns);
        let twice = self.int96(columns);
        let Some((nanos, _)) = self.nanos.as_ref().filter(|_| !twice.is_empty()) else {
            return Ok(Box::new(micros));
        };
        let is_twice = |at: &usize| twice.contains(&columns[*at]);
        let places = (0..columns.len()).filter(is_twice).collect();
        Ok(Box::new(WithNanos { micros, nanos: group(nanos, &twice), places }))
    }

    fn reader_bytes(&self) -> Result<u64, Problem> {
        if self.groups().num_row_groups() == 0 {
            return Ok(0);
        }
        let columns: Vec<usize> = (0..self.schema().fields().len()).collect();
        self.decoding_bytes(0, &columns)
    }

    fn has_alike_parts(&self) -> bool {
        // INT96 has units by row group.
        self.nanos.is_none() && are_plain(self.schema())
    }

    fn part_name(&self) -> &'static str {
        "row group"
    }

    fn description_bytes(&self) -> Option<u64> {
        let pages = self.pages.lock().len();
        let bytes = self.groups().memory_size() + pages * size_of::<((usize, usize), Pages)>();
        Some(bytes as u64)
    }

    fn close(&self) {
        self.input.input().close();
    }

    fn check_unchanged(&self) -> sources::Result<()> {
        self.input.input().check_unchanged()
    }
}
