//! The page itself: headings, tables, figures. Whatever it is given is text, never markup.

use std::fmt::Write;

/// Colours follow the reader's system.
const STYLE: &str = "\
:root{color-scheme:light dark;--back:#fcfcfb;--text:#1d1d1b;--muted:#63625e;--rule:#e3e2de;--data:#2a78d6;--other:#c98500}\
@media(prefers-color-scheme:dark){:root{--back:#1b1b1a;--text:#ececea;--muted:#a3a29d;--rule:#3a3a38;--data:#6aa8ee;--other:#e0aa4a}}\
body{background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}\
h1{font-size:1.4em}h2{font-size:1.05em;margin:1.8em 0 .4em}\
table{border-collapse:collapse}td,th{padding:.2em 1.2em .2em 0;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top;overflow-wrap:anywhere}td:last-child,th:last-child{padding-right:0}\
th{color:var(--muted);font-weight:normal}.wide{overflow-x:auto}svg{width:100%;min-width:40em;height:auto}svg text{font:12px system-ui,sans-serif;fill:var(--muted)}";

/// The first bytes of each page.
pub(super) const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
    <title>";

/// A page in the making.
pub(super) struct Page {
    title: String,
    body: String,
}

impl Page {
    pub(super) fn new(title: String) -> Page {
        Page { title, body: String::new() }
    }

    pub(super) fn facts(&mut self, heading: &str, facts: &[(&'static str, String)]) {
        let rows = facts.iter().map(|(name, value)| vec![(*name).to_owned(), value.clone()]);
        self.table(heading, &["", ""], rows.collect());
    }

    /// A table, unless it has no rows. Heads that are empty are left out.
    pub(super) fn table(&mut self, heading: &str, heads: &[&str], rows: Vec<Vec<String>>) {
        if rows.is_empty() {
            return;
        }
        self.heading(heading);
        self.body.push_str("<div class=\"wide\"><table>\n");
        if heads.iter().any(|head| !head.is_empty()) {
            self.row("th", heads.iter().map(|head| (*head).to_owned()));
        }
        rows.into_iter().for_each(|row| self.row("td", row.into_iter()));
        self.body.push_str("</table></div>\n");
    }

    /// A list, unless it is empty.
    pub(super) fn list(&mut self, heading: &str, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        self.heading(heading);
        self.body.push_str("<ul>\n");
        for line in lines {
            let _ = writeln!(self.body, "<li>{}</li>", escaped(line));
        }
        self.body.push_str("</ul>\n");
    }

    /// A drawing, made here; none where there is nothing to draw.
    pub(super) fn figure(&mut self, heading: &str, svg: Option<String>) {
        if let Some(svg) = svg {
            self.heading(heading);
            let _ = writeln!(self.body, "<div class=\"wide\">{svg}</div>");
        }
    }

    /// The whole document.
    pub(super) fn html(&self) -> String {
        let title = escaped(&self.title);
        format!(
            "{HEAD}{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{}\
             <p>Inrush {}</p>\n</body>\n</html>\n",
            self.body,
            env!("CARGO_PKG_VERSION")
        )
    }

    fn heading(&mut self, heading: &str) {
        let _ = writeln!(self.body, "<h2>{}</h2>", escaped(heading));
    }

    fn row(&mut self, cell: &str, values: impl Iterator<Item = String>) {
        self.body.push_str("<tr>");
        for value in values {
            let _ = write!(self.body, "<{cell}>{}</{cell}>", escaped(&value));
        }
        self.body.push_str("</tr>\n");
    }
}

/// As text of a document or a drawing.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_says_is_text_on_the_page() {
        let mut page = Page::new("<b>&".to_owned());
        page.list("Why", &["'<script>alert(1)</script>\u{1b}".to_owned()]);
        page.table("Nothing", &["a"], Vec::new());
        let html = page.html();
        assert!(html.contains("<h1>&lt;b&gt;&amp;</h1>"), "{html}");
        assert!(html.contains("&#39;&lt;script&gt;alert(1)&lt;/script&gt;\u{fffd}"), "{html}");
        assert!(!html.contains("<script") && !html.contains("Nothing"), "{html}");
        assert!(!html.contains("http://") && !html.contains("https://"), "{html}");
    }
}
