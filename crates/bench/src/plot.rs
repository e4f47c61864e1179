//! The page of a chart: its type sizes, and a plot with numbers at its edges.

use crate::head::Head;
use crate::svg::{Anchor, Ink, Svg};

/// Width of a page.
pub(crate) const WIDTH: f64 = 960.0;
/// Left and right of what is on it.
pub(crate) const MARGIN: f64 = 32.0;
/// Top of the first plots.
pub(crate) const TOP: f64 = 84.0;
/// Type of headings, of numbers that matter, and of others.
pub(crate) const HEADING: f64 = 14.0;
pub(crate) const NORMAL: f64 = 12.5;
pub(crate) const SMALL: f64 = 11.0;

/// A page of this height, with its title and what was measured where.
pub(crate) fn page(height: f64, title: &str, heading: &str, what: &str, head: &Head) -> Svg {
    let mut svg = Svg::new(WIDTH, height, title);
    svg.heading((MARGIN, 38.0), 18.0, heading);
    let host = format!("{what}server {}; {}", head.server_version, head.machine.line());
    svg.words((MARGIN, 58.0), Anchor::Start, SMALL, Ink::Muted, &host);
    svg
}

/// A place and the room there.
#[derive(Clone, Copy)]
pub(crate) struct Plot {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Plot {
    /// A rule at a height, whose number is left of it.
    pub(crate) fn rule(&self, svg: &mut Svg, y: f64, number: &str) {
        svg.line(&[(self.x, y), (self.x + self.width, y)], Ink::Rule, 1.0);
        svg.words((self.x - 8.0, y + 4.0), Anchor::End, SMALL, Ink::Muted, number);
    }

    /// A number below the plot.
    pub(crate) fn number(&self, svg: &mut Svg, x: f64, number: &str) {
        self.below(svg, x, 18.0, number);
    }

    /// The meaning of the numbers below the plot.
    pub(crate) fn axis(&self, svg: &mut Svg, words: &str) {
        self.below(svg, self.x + self.width / 2.0, 36.0, words);
    }

    fn below(&self, svg: &mut Svg, x: f64, y: f64, words: &str) {
        svg.words((x, self.y + self.height + y), Anchor::Middle, SMALL, Ink::Muted, words);
    }
}
