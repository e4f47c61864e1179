//! The expression that a table is partitioned by: from the server's words, computed of stored values.
//!
//! ```text
//! year(`d`) * 100 + month(`d`)        `id` MOD 16        unix_timestamp(`at`)
//! ```
//!
//! Numbers are those of the server: 64 bits, signed, or unsigned where an operand is; larger ones are an
//! error there and here. Unsupported expressions are refused when they are read. Source: MariaDB 10.11,
//! sql/item_func.cc, sql/item_timefunc.cc, sql/item.cc `Item_func::print_op`.

use std::iter::Peekable;

use sql::syntax::Syntax;
use sql::token::{Token, TokenKind, Tokens};
use values::SqlType;
use values::stored::{self, Shown};

use super::time_part::{NoValue, TimePart};

/// Parentheses in parentheses that are followed.
const DEPTH_MAX: usize = 32;

/// Gives the place of a column among those that are used, and its type, by its name.
type Find<'f> = dyn FnMut(&str) -> Result<(usize, SqlType), String> + 'f;

/// The expression that gives stored values their partition number.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    node: Node,
    /// True if it is never negative, and may take all 64 bits.
    pub(super) unsigned: bool,
}

#[derive(Clone, Debug)]
enum Node {
    Number(i128),
    /// A column, by its place among those that are used, and its type.
    Column(usize, SqlType),
    Time(TimePart, usize, SqlType),
    Sign(Box<Expression>),
    Absolute(Box<Expression>),
    Pair(Operator, Box<[Expression; 2]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Plus,
    Minus,
    Times,
    Div,
    Mod,
}

impl Expression {
    /// Reads an expression. `column` gives the place of a column among those that are used, and its
    /// type.
    ///
    /// Errors: what of it is not known here.
    pub(super) fn read(text: &str, column: &mut Find<'_>) -> Result<Expression, String> {
        let tokens = Tokens::of_any_server(text.as_bytes(), Syntax::default());
        let mut reader = Reader { tokens: tokens.peekable(), column, depth: 0 };
        let expression = reader.sum()?;
        match reader.tokens.next() {
            None => Ok(expression),
            Some(token) => Err(shown(&token)),
        }
    }

    /// True if it has a value for every row: it is a column, or a number.
    pub(super) fn has_value(&self) -> bool {
        matches!(self.node, Node::Number(_) | Node::Column(..))
    }

    /// Its value of a row whose columns `stored` gives; None is NULL.
    pub(super) fn value<'r>(
        &self,
        stored: &impl Fn(usize) -> Option<&'r [u8]>,
    ) -> Result<Option<i128>, NoValue> {
        let value = match &self.node {
            Node::Number(number) => Some(*number),
            Node::Column(at, sql_type) => match stored(*at) {
                None => None,
                Some(value) => Some(stored::number(sql_type, value).ok_or(NoValue::Unknown)?),
            },
            Node::Time(part, at, sql_type) => match stored(*at) {
                None => None,
                Some(value) => part.of(Shown::of(sql_type, value).ok_or(NoValue::Unknown)?)?,
            },
            Node::Sign(inner) => inner.value(stored)?.map(|value| -value),
            Node::Absolute(inner) => inner.value(stored)?.map(i128::abs),
            Node::Pair(operator, pair) => {
                let [a, b] = &**pair;
                match (a.value(stored)?, b.value(stored)?) {
                    (Some(a), Some(b)) => Some(operator.of(a, b).ok_or(NoValue::OutOfRange)?),
                    _ => None,
                }
            }
        };
        match value {
            Some(value) if !self.holds(value) => Err(NoValue::OutOfRange),
            value => Ok(value),
        }
    }

    fn holds(&self, value: i128) -> bool {
        match self.unsigned {
            true => u64::try_from(value).is_ok(),
            false => i64::try_from(value).is_ok(),
        }
    }
}

impl Operator {
    fn of(self, a: i128, b: i128) -> Option<i128> {
        match self {
            Operator::Plus => a.checked_add(b),
            Operator::Minus => a.checked_sub(b),
            Operator::Times => a.checked_mul(b),
            Operator::Div => a.checked_div(b),
            Operator::Mod => a.checked_rem(b),
        }
    }
}

/// Reads an expression, operators of one rank after the other.
struct Reader<'t, 'c> {
    tokens: Peekable<Tokens<'t>>,
    column: &'c mut Find<'c>,
    depth: usize,
}

impl<'t> Reader<'t, '_> {
    fn sum(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("its parentheses".to_owned());
        }
        let mut left = self.product()?;
        loop {
            let operator = match self.tokens.peek() {
                Some(token) if token.is_sign(b'+') => Operator::Plus,
                Some(token) if token.is_sign(b'-') => Operator::Minus,
                _ => break,
            };
            self.tokens.next();
            let right = self.product()?;
            left = pair(operator, left, right)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, String> {
        let mut left = self.signed()?;
        loop {
            let operator = match self.tokens.peek() {
                Some(token) if token.is_sign(b'*') => Operator::Times,
                Some(token) if token.is("DIV") => Operator::Div,
                Some(token) if token.is("MOD") || token.is_sign(b'%') => Operator::Mod,
                _ => return Ok(left),
            };
            self.tokens.next();
            let right = self.signed()?;
            left = pair(operator, left, right)?;
        }
    }

    fn signed(&mut self) -> Result<Expression, String> {
        let mut is_negative = false;
        while self.tokens.next_if(|token| token.is_sign(b'-')).is_some() {
            is_negative = !is_negative;
        }
        let inner = self.atom()?;
        match is_negative {
            false => Ok(inner),
            true if inner.unsigned => Err("a minus sign before an unsigned operand".to_owned()),
            true => Ok(Expression { node: Node::Sign(Box::new(inner)), unsigned: false }),
        }
    }

    fn atom(&mut self) -> Result<Expression, String> {
        let Some(token) = self.tokens.next() else { return Err("its end".to_owned()) };
        if token.is_sign(b'(') {
            let inner = self.sum()?;
            self.expect(b')')?;
            return Ok(inner);
        }
        let word = match &token.kind {
            TokenKind::Name(name) => return self.plain_column(&String::from_utf8_lossy(name)),
            TokenKind::Word(word) => *word,
            _ => return Err(shown(&token)),
        };
        if word[0].is_ascii_digit() {
            let number = std::str::from_utf8(word).ok().and_then(|text| text.parse::<u64>().ok());
            let number = i128::from(number.ok_or_else(|| shown(&token))?);
            let unsigned = number > i128::from(i64::MAX);
            return Ok(Expression { node: Node::Number(number), unsigned });
        }
        self.expect(b'(')?;
        let made = self.function(word, &token)?;
        self.expect(b')')?;
        Ok(made)
    }

    fn plain_column(&mut self, name: &str) -> Result<Expression, String> {
        let (at, sql_type) = (self.column)(name)?;
        let unsigned = match sql_type {
            SqlType::Integer { unsigned, .. } => unsigned,
            SqlType::Year => true,
            other => return Err(format!("column `{name}` of type {other}")),
        };
        Ok(Expression { node: Node::Column(at, sql_type), unsigned })
    }

    fn function(&mut self, name: &[u8], token: &Token<'_>) -> Result<Expression, String> {
        let is = |word: &str| name.eq_ignore_ascii_case(word.as_bytes());
        if is("abs") {
            let inner = self.sum()?;
            let unsigned = inner.unsigned;
            return Ok(Expression { node: Node::Absolute(Box::new(inner)), unsigned });
        }
        if is("mod") {
            let left = self.sum()?;
            self.expect(b',')?;
            let right = self.sum()?;
            return pair(Operator::Mod, left, right);
        }
        if is("floor") || is("ceiling") {
            // Of whole numbers, as all here are.
            return self.sum();
        }
        let part = TimePart::named(name);
        if part.is_none() && !is("unix_timestamp") {
            return Err(shown(token));
        }
        let argument = self.tokens.next();
        let Some(Token { kind: TokenKind::Name(column), .. }) = argument else {
            return Err(shown(token));
        };
        let column = String::from_utf8_lossy(&column).into_owned();
        let (at, sql_type) = (self.column)(&column)?;
        let node = match (part, &sql_type) {
            (Some(part), SqlType::Date | SqlType::DateTime { .. }) => {
                Node::Time(part, at, sql_type)
            }
            (None, SqlType::Timestamp { digits: 0 }) => Node::Column(at, sql_type),
            _ => return Err(format!("{} of {sql_type}", shown(token))),
        };
        Ok(Expression { node, unsigned: false })
    }

    fn expect(&mut self, sign: u8) -> Result<(), String> {
        match self.tokens.next() {
            Some(token) if token.is_sign(sign) => Ok(()),
            Some(token) => Err(shown(&token)),
            None => Err("its end".to_owned()),
        }
    }
}

/// Two operands. Their ranks among signed and unsigned numbers are those that any `sql_mode` sees alike.
fn pair(operator: Operator, a: Expression, b: Expression) -> Result<Expression, String> {
    let is_constant = |of: &Expression| matches!(of.node, Node::Number(number) if number != 0);
    let is_number = |of: &Expression| matches!(of.node, Node::Number(_));
    let is_mixed = a.unsigned != b.unsigned && !is_number(&a) && !is_number(&b);
    let unsigned = match operator {
        _ if is_mixed => return Err("signed and unsigned numbers together".to_owned()),
        Operator::Minus if a.unsigned || b.unsigned => {
            return Err("a difference of unsigned numbers".to_owned());
        }
        Operator::Div | Operator::Mod if !is_constant(&b) => {
            return Err("a divisor that is not a constant other than 0".to_owned());
        }
        _ => a.unsigned || b.unsigned,
    };
    Ok(Expression { node: Node::Pair(operator, Box::new([a, b])), unsigned })
}

fn shown(token: &Token<'_>) -> String {
    match &token.kind {
        TokenKind::Word(word) | TokenKind::Text(word) => String::from_utf8_lossy(word).into_owned(),
        TokenKind::Name(name) => format!("`{}`", String::from_utf8_lossy(name)),
        TokenKind::Sign(sign) => char::from(*sign).to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const INT: SqlType = SqlType::Integer { bytes: 4, unsigned: false };

    fn read(text: &str) -> Result<Expression, String> {
        let columns = [
            ("a", INT),
            ("u", SqlType::Integer { bytes: 8, unsigned: true }),
            ("d", SqlType::Date),
            ("t", SqlType::Timestamp { digits: 0 }),
        ];
        Expression::read(text, &mut |name| {
            let at = columns.iter().position(|(column, _)| *column == name);
            at.map(|at| (at, columns[at].1.clone())).ok_or_else(|| format!("no column {name}"))
        })
    }

    fn of(text: &str, a: i32) -> Result<Option<i128>, NoValue> {
        let stored = (a as u32 ^ 1 << 31).to_be_bytes();
        read(text).unwrap().value(&|_| Some(&stored[..]))
    }

    #[test]
    fn operators_have_their_ranks() {
        for (text, expected) in [
            ("`a`", 7),
            ("`a` + 2 * 3", 13),
            ("(`a` + 2) * -3", -27),
            ("`a` - 10 - 1", -4),
            ("-`a` MOD 4", -3),
            ("`a` DIV 2 * 100 + `a` MOD 2", 301),
            ("mod(abs(-`a`),4)", 3),
            ("- -`a`", 7),
            ("floor(`a`)", 7),
        ] {
            assert_eq!(of(text, 7), Ok(Some(expected)), "{text}");
        }
    }

    #[test]
    fn what_64_bits_do_not_hold_is_no_value() {
        let text = "`a` * 2147483647 * 2147483647 * 4";
        assert_eq!(of(text, 1).map(|value| value.is_some()), Err(NoValue::OutOfRange));
        assert_eq!(of("`a` * 4", i32::MIN), Ok(Some(-(1 << 33))));
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for (text, reason) in [
            ("`x`", "no column x"),
            ("`d`", "column `d` of type DATE"),
            ("yearweek(`d`)", "yearweek"),
            ("unix_timestamp(`d`)", "unix_timestamp of DATE"),
            ("year(`t`)", "year of TIMESTAMP"),
            ("`u` - 1", "a difference of unsigned numbers"),
            ("`a` + `u`", "signed and unsigned numbers together"),
            ("7 DIV `a`", "a divisor that is not a constant other than 0"),
            ("`a` MOD 0", "a divisor that is not a constant other than 0"),
            ("`a` / 2", "/"),
            ("(`a`", "its end"),
            ("extract(year_month from `d`)", "extract"),
        ] {
            assert_eq!(read(text).map(|_| ()), Err(reason.to_owned()), "{text}");
        }
    }
}
