//! A drawing as SVG: lines, boxes, words, and two sets of colours.
//!
//! Light colours are attributes, so every viewer shows them; a style sheet replaces them where the
//! reader's system is dark. Lengths are pixels, from the top left corner.

use std::fmt::Write;

/// The purpose of an element, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Behind everything.
    Surface,
    /// Words that matter.
    Text,
    /// Words and axes that explain.
    Muted,
    /// Lines to read values by.
    Rule,
    /// The measured data.
    Data,
    /// The data that it is compared with.
    Other,
    /// The one to look at.
    Accent,
    /// Words on full [`Ink::Data`].
    OnData,
}

impl Ink {
    const ALL: [Ink; 8] = [
        Ink::Surface,
        Ink::Text,
        Ink::Muted,
        Ink::Rule,
        Ink::Data,
        Ink::Other,
        Ink::Accent,
        Ink::OnData,
    ];

    fn class(self) -> &'static str {
        match self {
            Ink::Surface => "surface",
            Ink::Text => "text",
            Ink::Muted => "muted",
            Ink::Rule => "rule",
            Ink::Data => "data",
            Ink::Other => "other",
            Ink::Accent => "accent",
            Ink::OnData => "on-data",
        }
    }

    fn light(self) -> &'static str {
        match self {
            Ink::Surface => "#fcfcfb",
            Ink::Text => "#1d1d1b",
            Ink::Muted => "#63625e",
            Ink::Rule => "#e3e2de",
            Ink::Data => "#2a78d6",
            Ink::Other => "#a9a8a2",
            Ink::Accent => "#d9480f",
            Ink::OnData => "#ffffff",
        }
    }

    fn dark(self) -> &'static str {
        match self {
            Ink::Surface => "#1a1a19",
            Ink::Text => "#ecebe7",
            Ink::Muted => "#a5a49e",
            Ink::Rule => "#353532",
            Ink::Data => "#3d87de",
            Ink::Other => "#77766f",
            Ink::Accent => "#f0763a",
            Ink::OnData => "#ffffff",
        }
    }
}

/// Where words stand about their point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// A drawing in the making.
#[derive(Debug)]
pub(crate) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    /// An empty drawing; `title` is what readers who cannot see it are told.
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Svg {
        let mut svg = Svg { width, height, body: String::new() };
        svg.push(&format!("<title>{}</title>", escape(title)));
        svg.rect((0.0, 0.0), (width, height), Ink::Surface, 1.0);
        svg
    }

    fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// A filled box: its top left corner, width and height.
    pub(crate) fn rect(&mut self, at: (f64, f64), size: (f64, f64), ink: Ink, opacity: f64) {
        let faint =
            if opacity < 1.0 { format!(" fill-opacity=\"{opacity:.3}\"") } else { String::new() };
        self.push_box("f", at, size, ink, &format!("fill=\"{}\"{faint}", ink.light()));
    }

    /// The outline of a box.
    pub(crate) fn frame(&mut self, at: (f64, f64), size: (f64, f64), ink: Ink) {
        let stroke = format!("fill=\"none\" stroke=\"{}\" stroke-width=\"2\"", ink.light());
        self.push_box("s", at, size, ink, &stroke);
    }

    fn push_box(&mut self, kind: &str, at: (f64, f64), size: (f64, f64), ink: Ink, paint: &str) {
        let ((x, y), (width, height), class) = (at, size, ink.class());
        self.push(&format!(
            "<rect class=\"{kind}-{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\" {paint}/>"
        ));
    }

    /// A line through all points.
    pub(crate) fn line(&mut self, points: &[(f64, f64)], ink: Ink, width: f64) {
        let mut list = String::new();
        for (x, y) in points {
            // Writing to memory cannot fail.
            let _ = write!(list, "{x:.1},{y:.1} ");
        }
        self.push(&format!(
            "<polyline class=\"s-{}\" points=\"{}\" fill=\"none\" stroke=\"{}\" \
             stroke-width=\"{width}\" stroke-linejoin=\"round\"/>",
            ink.class(),
            list.trim_end(),
            ink.light(),
        ));
    }

    /// A dot.
    pub(crate) fn dot(&mut self, at: (f64, f64), radius: f64, ink: Ink) {
        self.push(&format!(
            "<circle class=\"f-{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\" fill=\"{}\"/>",
            ink.class(),
            at.0,
            at.1,
            ink.light(),
        ));
    }

    /// Words; the point is on their base line.
    pub(crate) fn words(
        &mut self,
        at: (f64, f64),
        anchor: Anchor,
        size: f64,
        ink: Ink,
        words: &str,
    ) {
        self.push(&format!(
            "<text class=\"f-{}\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{}\" font-size=\"{size}\" \
             fill=\"{}\">{}</text>",
            ink.class(),
            at.0,
            at.1,
            anchor.name(),
            ink.light(),
            escape(words),
        ));
    }

    /// Words in bold.
    pub(crate) fn heading(&mut self, at: (f64, f64), size: f64, words: &str) {
        self.push(&format!(
            "<text class=\"f-text\" x=\"{:.1}\" y=\"{:.1}\" font-size=\"{size}\" font-weight=\"600\" \
             fill=\"{}\">{}</text>",
            at.0, at.1, Ink::Text.light(), escape(words),
        ));
    }

    /// The whole document.
    pub(crate) fn finish(self) -> String {
        let mut dark = String::new();
        for ink in Ink::ALL {
            let (class, colour) = (ink.class(), ink.dark());
            let _ = write!(dark, ".f-{class}{{fill:{colour}}}.s-{class}{{stroke:{colour}}}");
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" \
             viewBox=\"0 0 {w} {h}\" role=\"img\" \
             font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif\">\n\
             <style>@media (prefers-color-scheme: dark){{{dark}}}</style>\n{}</svg>\n",
            self.body,
            w = self.width,
            h = self.height,
        )
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_has_a_dark_one_and_words_are_escaped() {
        let mut svg = Svg::new(10.0, 20.0, "a < b");
        svg.words((1.0, 2.0), Anchor::Middle, 12.0, Ink::Muted, "\"x\" & <y>");
        let text = svg.finish();
        assert!(text.contains("<title>a &lt; b</title>"), "{text}");
        assert!(text.contains("&quot;x&quot; &amp; &lt;y&gt;</text>"), "{text}");
        assert_eq!(text.matches("<text").count(), text.matches("</text>").count());
        for ink in Ink::ALL {
            assert!(text.contains(&format!(".f-{}{{fill:{}}}", ink.class(), ink.dark())));
        }
    }
}
