//! Lists, structs and maps of Arrow arrays to JSON texts.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{DataType, Field};
use sources::batch::{Cells, RefusedCell};
use values::{Reason, Value};

use super::{CheckedCells, of_array, refused, texts};
use crate::fit::is_uuid;
use crate::guard::Problem;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The JSON text of each row.
///
/// Errors: values that are not supported; texts that take more bytes than that.
pub(super) fn texts(
    array: &ArrayRef,
    field: &Field,
    bytes_max: u64,
) -> Result<CheckedCells, Problem> {
    let tree = Tree::new(array, field, bytes_max)?;
    let (mut ends, mut bytes) = (Vec::with_capacity(array.len()), Vec::new());
    let mut out: Vec<RefusedCell> = Vec::new();
    for row in 0..array.len() {
        let start = bytes.len();
        if array.is_valid(row)
            && let Err(reason) = tree.write(row, &mut bytes)
        {
            out.push(refused(row, bytes.split_off(start), reason));
        }
        texts::check(bytes.len() as u64, bytes_max)?;
        ends.push(bytes.len());
    }
    Ok(CheckedCells { cells: Cells::Bytes { ends, bytes }, refused: out })
}

/// An array and those inside of it, ready to be written.
enum Tree {
    /// Where the items of each row are, and the items.
    List { array: ArrayRef, items: Box<Tree> },
    /// The names and values of fields, and whether there is a row.
    Struct { array: ArrayRef, fields: Vec<(String, Tree)> },
    /// Where the pairs of each row are, the keys and the values.
    Map { array: ArrayRef, keys: Box<Tree>, values: Box<Tree> },
    /// Values that hold no other.
    Leaf { column: sources::batch::TypedColumn, is_text: bool, is_truth: bool },
}

impl Tree {
    fn new(array: &ArrayRef, field: &Field, bytes_max: u64) -> Result<Tree, Problem> {
        let list = |values: &ArrayRef, item: &Field| -> Result<Tree, Problem> {
            let items = Box::new(Tree::new(values, item, bytes_max)?);
            Ok(Tree::List { array: array.clone(), items })
        };
        match array.data_type() {
            DataType::List(item) => list(array.as_list::<i32>().values(), item),
            DataType::LargeList(item) => list(array.as_list::<i64>().values(), item),
            DataType::ListView(item) => list(array.as_list_view::<i32>().values(), item),
            DataType::LargeListView(item) => list(array.as_list_view::<i64>().values(), item),
            DataType::FixedSizeList(item, _) => list(array.as_fixed_size_list().values(), item),
            DataType::Struct(_) => {
                let fields = Tree::fields(array.as_struct(), bytes_max)?;
                Ok(Tree::Struct { array: array.clone(), fields })
            }
            DataType::Map(..) => {
                let fields = Tree::fields(array.as_map().entries(), bytes_max)?;
                let mut trees = fields.into_iter().map(|(_, tree)| Box::new(tree));
                match (trees.next(), trees.next()) {
                    (Some(keys), Some(values)) => {
                        Ok(Tree::Map { array: array.clone(), keys, values })
                    }
                    _ => Err("its map has no keys and values".to_owned()),
                }
            }
            other => {
                let is_truth = *other == DataType::Boolean;
                let column = of_array(array, field, None, bytes_max)?;
                let is_number = matches!(
                    column.cells,
                    Cells::Integer(_)
                        | Cells::Unsigned(_)
                        | Cells::Float(_)
                        | Cells::Double(_)
                        | Cells::Decimal { .. }
                );
                let is_wide = matches!(other, DataType::Decimal256(..));
                let is_text = !is_number && !is_wide || is_uuid(field);
                Ok(Tree::Leaf { column, is_text, is_truth })
            }
        }
    }

    fn fields(array: &StructArray, bytes_max: u64) -> Result<Vec<(String, Tree)>, Problem> {
        let fields = array.fields().iter().zip(array.columns());
        let tree = |(field, array): (&arrow_schema::FieldRef, &ArrayRef)| {
            Ok((field.name().clone(), Tree::new(array, field, bytes_max)?))
        };
        fields.map(tree).collect()
    }

    /// Appends the value of a row.
    ///
    /// Errors: a value that JSON cannot have; the text ends before it.
    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<(), Reason> {
        match self {
            Tree::List { array, .. } | Tree::Struct { array, .. } | Tree::Map { array, .. }
                if array.is_null(row) =>
            {
                out.extend_from_slice(b"null");
                Ok(())
            }
            Tree::List { array, items } => {
                out.push(b'[');
                for (at, item) in items_of(array, row).enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    items.write(item, out)?;
                }
                out.push(b']');
                Ok(())
            }
            Tree::Struct { fields, .. } => {
                out.push(b'{');
                for (at, (name, tree)) in fields.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    push_text(name.as_bytes(), out);
                    out.push(b':');
                    tree.write(row, out)?;
                }
                out.push(b'}');
                Ok(())
            }
            Tree::Map { array, keys, values } => write_map(array, keys, values, row, out),
            Tree::Leaf { column, is_text, is_truth } => {
                write_leaf(column, *is_text, *is_truth, row, out)
            }
        }
    }
}

/// The items of a list.
fn items_of(array: &ArrayRef, row: usize) -> std::ops::Range<usize> {
    match array.data_type() {
        DataType::List(_) => {
            let offsets = array.as_list::<i32>().value_offsets();
            offsets[row] as usize..offsets[row + 1] as usize
        }
        DataType::LargeList(_) => {
            let offsets = array.as_list::<i64>().value_offsets();
            offsets[row] as usize..offsets[row + 1] as usize
        }
        DataType::ListView(_) => {
            let list = array.as_list_view::<i32>();
            let first = list.value_offset(row) as usize;
            first..first + list.value_size(row) as usize
        }
        DataType::LargeListView(_) => {
            let list = array.as_list_view::<i64>();
            let first = list.value_offset(row) as usize;
            first..first + list.value_size(row) as usize
        }
        DataType::Map(..) => {
            let offsets = array.as_map().value_offsets();
            offsets[row] as usize..offsets[row + 1] as usize
        }
        _ => {
            let list = array.as_fixed_size_list();
            let size = list.value_length() as usize;
            let first = list.value_offset_at(row);
            first..first + size
        }
    }
}

/// Appends an object with the pairs of a map, whose keys must differ.
fn write_map(
    array: &ArrayRef,
    keys: &Tree,
    values: &Tree,
    row: usize,
    out: &mut Vec<u8>,
) -> Result<(), Reason> {
    let mut seen: Vec<Vec<u8>> = Vec::new();
    out.push(b'{');
    for (at, pair) in items_of(array, row).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let start = out.len();
        keys.write(pair, out)?;
        let key = out[start..].to_vec();
        seen.push(key);
        out.push(b':');
        values.write(pair, out)?;
    }
    out.push(b'}');
    seen.sort_unstable();
    match seen.windows(2).any(|pair| pair[0] == pair[1]) {
        true => Err(Reason::EqualKeys),
        false => Ok(()),
    }
}

fn write_leaf(
    column: &sources::batch::TypedColumn,
    is_text: bool,
    is_truth: bool,
    row: usize,
    out: &mut Vec<u8>,
) -> Result<(), Reason> {
    let mut scratch = Vec::new();
    let value = column.value(row);
    if let Value::Refused { text, reason } = value {
        out.extend_from_slice(text);
        return Err(if reason == Reason::NotANumber { Reason::NotJson } else { reason });
    }
    match (value, is_truth) {
        (Value::Integer(truth), true) => {
            out.extend_from_slice(if truth == 0 { b"false" } else { b"true" });
        }
        (value, _) => match value.text(&mut scratch) {
            None => out.extend_from_slice(b"null"),
            Some(text) if is_text => push_text(text, out),
            Some(number) => out.extend_from_slice(number),
        },
    }
    Ok(())
}

/// Appends a text in quotes.
fn push_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => {
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
            byte => out.push(byte),
        }
    }
    out.push(b'"');
}
