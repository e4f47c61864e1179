//! Rules for each line.

use check::lines::{Asks, Comparison, Rule};
use encode::mapped::{Condition, Lookup};
use regex::bytes::Regex;
use schema::TableName;
use terminal::failure::Failure;

use super::JobFile;
use super::node::Node;

impl JobFile {
    /// All rules, in the order of the file: each key of a `[[rule]]` that asks for something is one.
    ///
    /// Errors: what asks for nothing, or cannot be asked, with its line.
    pub(crate) fn rules(&self) -> Result<Vec<Rule>, Failure> {
        let mut rules = Vec::new();
        for node in self.root.get("rule").map(Node::members).unwrap_or_default() {
            let when = self.when(node)?;
            let name = node.get("name").and_then(Node::text);
            let asked = self.asked(node)?;
            if asked.is_empty() {
                return Err(self.wrong(node.line, "a [[rule]] has no condition"));
            }
            rules.extend(asked.into_iter().map(|(field, asks)| Rule {
                name: name.clone(),
                field,
                when: when.clone(),
                asks,
            }));
        }
        Ok(rules)
    }

    /// The alternatives of `when`.
    pub(super) fn when(&self, node: &Node) -> Result<Vec<Vec<Condition>>, Failure> {
        let all = node.get("when").map(Node::members).unwrap_or_default();
        all.iter().map(|one| self.conditions(one)).collect()
    }

    fn asked(&self, node: &Node) -> Result<Vec<(String, Asks)>, Failure> {
        let mut asked = Vec::new();
        if let Some(compare) = node.get("compare") {
            asked.push(self.comparison(compare)?);
        }
        let field = node.get("field").and_then(Node::text);
        let of_field = self.asked_of_field(node, field.as_deref().unwrap_or_default())?;
        match field {
            Some(field) => asked.extend(of_field.into_iter().map(|asks| (field.clone(), asks))),
            None if of_field.is_empty() => {}
            None => return Err(self.wrong(node.line, "a [[rule]] has no field")),
        }
        Ok(asked)
    }

    fn asked_of_field(&self, node: &Node, field: &str) -> Result<Vec<Asks>, Failure> {
        let number = |key: &str| {
            let Some(found) = node.get(key) else { return Ok(None) };
            let number = found.text().and_then(|text| text.parse::<f64>().ok());
            let wrong =
                || self.wrong(found.line, format!("{key} is not a number that can be compared"));
            number.ok_or_else(wrong).map(Some)
        };
        let length = |key: &str| {
            let Some(found) = node.get(key) else { return Ok(None) };
            let length = found.text().and_then(|text| text.parse::<usize>().ok());
            length
                .ok_or_else(|| self.wrong(found.line, format!("{key} is not an integer")))
                .map(Some)
        };
        let mut asked = Vec::new();
        asked.extend(node.get("required").filter(|node| node.is_on()).map(|_| Asks::Required));
        let (min, max) = (number("min")?, number("max")?);
        asked.extend((min.is_some() || max.is_some()).then_some(Asks::Range { min, max }));
        let (min, max) = (length("min_length")?, length("max_length")?);
        asked.extend((min.is_some() || max.is_some()).then_some(Asks::Length { min, max }));
        if let Some(found) = node.get("regex") {
            let regex = Regex::new(&found.text().unwrap_or_default()).map_err(|error| {
                let words: Vec<String> =
                    error.to_string().lines().map(|l| l.trim().to_owned()).collect();
                let last = words.last().cloned().unwrap_or_default();
                self.wrong(found.line, format!("regex is not a regular expression: {last}"))
            })?;
            asked.push(Asks::Matches(regex));
        }
        if let Some(found) = node.get("one_of") {
            asked.push(Asks::OneOf(found.texts().into_iter().collect()));
        }
        asked.extend(node.get("unique").filter(|node| node.is_on()).map(|_| Asks::Unique));
        if let Some(found) = node.get("references") {
            asked.push(self.reference(found, field)?);
        }
        Ok(asked)
    }

    fn reference(&self, node: &Node, field: &str) -> Result<Asks, Failure> {
        let said = node.text().unwrap_or_default();
        let mut names = said.splitn(3, '.');
        let (Some(database), Some(table), Some(key)) = (names.next(), names.next(), names.next())
        else {
            return Err(self.wrong(node.line, format!("{said}: DB.TABLE.COLUMN is expected")));
        };
        Ok(Asks::References(Lookup {
            table: TableName::new(database, table),
            key: key.to_owned(),
            field: field.to_owned(),
            take: key.to_owned(),
        }))
    }

    /// `ordered <= shipped`.
    fn comparison(&self, node: &Node) -> Result<(String, Asks), Failure> {
        let said = node.text().unwrap_or_default();
        let signs = Comparison::SIGNS.iter();
        let found = signs.filter_map(|(sign, by)| Some((said.find(sign)?, sign, *by)));
        // Of two that begin alike the longer one, which is told first.
        let Some((at, sign, by)) = found.min_by_key(|(at, ..)| *at) else {
            let signs: Vec<&str> = Comparison::SIGNS.iter().map(|(sign, _)| *sign).collect();
            let what = format!(
                "{said} is not a comparison; two fields and one of {} are expected",
                signs.join(" ")
            );
            return Err(self.wrong(node.line, what));
        };
        let (field, with) = (said[..at].trim(), said[at + sign.len()..].trim());
        if field.is_empty() || with.is_empty() {
            return Err(self.wrong(node.line, format!("{said} does not name two fields")));
        }
        Ok((field.to_owned(), Asks::Compares { with: with.to_owned(), by }))
    }
}
