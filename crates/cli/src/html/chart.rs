//! Drawings of a load's course, as SVG. Seconds go to the right in all of them.

use std::fmt::Write;

use load::Stage;
use terminal::size::show;

use super::page::escaped;
use crate::recorder::{Course, Sample};

/// Width of a drawing, of what is left of it for names, and the height of a line chart.
const WIDTH: f64 = 900.0;
const LEFT: f64 = 90.0;
const HEIGHT: f64 = 160.0;
/// Height of a stage's bar, and from one to the next.
const BAR: f64 = 14.0;
const STEP: f64 = 20.0;
/// Below the last one: the seconds.
const FOOT: f64 = 22.0;

/// A bar for each stage, from its beginning to its end.
pub(super) fn stages(course: &Course) -> Option<String> {
    let mut names: Vec<Stage> = Vec::new();
    for (stage, _) in &course.stages {
        if !names.contains(stage) {
            names.push(*stage);
        }
    }
    let height = names.len() as f64 * STEP;
    let mut drawing = Drawing::new(course, height)?;
    for (line, stage) in names.iter().enumerate() {
        let top = line as f64 * STEP;
        drawing.words(LEFT - 8.0, top + BAR - 2.0, "end", stage.name());
        for (at, (entered, begun)) in course.stages.iter().enumerate() {
            if entered == stage {
                let ended = course.stages.get(at + 1).map_or(course.seconds, |(_, next)| *next);
                let (left, right) = (drawing.x(*begun), drawing.x(ended));
                let width = (right - left).max(1.0);
                let _ = writeln!(
                    drawing.svg,
                    "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{BAR}\" \
                     fill=\"var(--data)\"><title>{}: {:.2} s</title></rect>",
                    stage.name(),
                    ended - begun
                );
            }
        }
    }
    Some(drawing.end())
}

/// How fast each stage went over its bytes.
pub(super) fn throughput(course: &Course) -> Option<String> {
    let pairs = course.samples.windows(2).filter(|pair| pair[0].stage == pair[1].stage);
    let rates: Vec<(f64, f64)> = pairs
        .filter_map(|pair| {
            let [a, b]: &[Sample; 2] = pair.try_into().ok()?;
            let seconds = b.seconds - a.seconds;
            let bytes = b.done_bytes.checked_sub(a.done_bytes)?;
            (seconds > 0.0).then(|| (b.seconds, bytes as f64 / seconds))
        })
        .collect();
    line(course, &rates, None)
}

/// Resident memory, and what is allowed.
pub(super) fn memory(course: &Course, allowed_bytes: u64) -> Option<String> {
    let points: Vec<(f64, f64)> =
        course.samples.iter().map(|sample| (sample.seconds, sample.memory_bytes as f64)).collect();
    line(course, &points, Some(allowed_bytes as f64))
}

/// A line through points of seconds and bytes, below a limit if there is one.
fn line(course: &Course, points: &[(f64, f64)], limit: Option<f64>) -> Option<String> {
    let highest = points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    if points.len() < 2 || highest <= 0.0 {
        return None;
    }
    // A limit far above would flatten the line.
    let limit = limit.filter(|limit| *limit < highest * 4.0);
    let top = highest.max(limit.unwrap_or(0.0)) * 1.05;
    let mut drawing = Drawing::new(course, HEIGHT)?;
    let y = |value: f64| HEIGHT - value / top * HEIGHT;
    for value in [0.0, top / 2.0, top] {
        let at = y(value);
        drawing.rule(at, "var(--rule)");
        drawing.words(LEFT - 8.0, at + 4.0, "end", &show(value as u64));
    }
    if let Some(limit) = limit {
        drawing.rule(y(limit), "var(--other)");
        drawing.words(WIDTH, y(limit) - 4.0, "end", "allowed");
    }
    let mut path = String::new();
    for (seconds, value) in points {
        let word = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{word}{:.1} {:.1}", drawing.x(*seconds), y(*value));
    }
    let _ = writeln!(
        drawing.svg,
        "<path d=\"{path}\" fill=\"none\" stroke=\"var(--data)\" stroke-width=\"1.5\"/>"
    );
    Some(drawing.end())
}

/// A drawing in the making, `height` high without the seconds below it.
struct Drawing {
    svg: String,
    seconds: f64,
    height: f64,
}

impl Drawing {
    /// None of a load that took no time that could be seen.
    fn new(course: &Course, height: f64) -> Option<Drawing> {
        if course.seconds <= 0.0 || height <= 0.0 {
            return None;
        }
        let all = height + FOOT;
        let svg = format!("<svg viewBox=\"0 -8 {WIDTH} {:.0}\" role=\"img\">\n", all + 8.0);
        Some(Drawing { svg, seconds: course.seconds, height })
    }

    fn x(&self, seconds: f64) -> f64 {
        LEFT + seconds / self.seconds * (WIDTH - LEFT)
    }

    fn words(&mut self, x: f64, y: f64, anchor: &str, words: &str) {
        let words = escaped(words);
        let _ = writeln!(
            self.svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
        );
    }

    fn rule(&mut self, y: f64, colour: &str) {
        let _ = writeln!(
            self.svg,
            "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"{colour}\"/>"
        );
    }

    fn end(mut self) -> String {
        let y = self.height + FOOT - 6.0;
        let (half, all) = (self.seconds / 2.0, self.seconds);
        self.words(LEFT, y, "start", "0 s");
        self.words(self.x(half), y, "middle", &format!("{half:.2} s"));
        self.words(WIDTH, y, "end", &format!("{all:.2} s"));
        self.svg.push_str("</svg>\n");
        self.svg
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn course() -> Course {
        let sample = |seconds: f64, stage, done_bytes| Sample {
            seconds,
            stage,
            done_bytes,
            memory_bytes: 50 << 20,
        };
        let mut course = Course::default();
        course.seconds = 4.0;
        course.stages = vec![(Stage::Rows, 0.0), (Stage::Import, 3.0)];
        course.samples = vec![
            sample(0.0, Stage::Rows, 0),
            sample(1.0, Stage::Rows, 100_000_000),
            sample(2.0, Stage::Rows, 300_000_000),
            sample(3.0, Stage::Import, 0),
        ];
        course
    }

    #[test]
    fn stages_are_as_wide_as_they_took() {
        let svg = stages(&course()).unwrap();
        assert!(svg.contains("rows: 3.00 s") && svg.contains("import: 1.00 s"), "{svg}");
        let width = format!("width=\"{:.1}\"", (WIDTH - LEFT) * 0.75);
        assert!(svg.contains(&width), "{svg}");
        assert_eq!(stages(&Course::default()), None);
    }

    #[test]
    fn speed_is_that_within_a_stage_and_memory_has_its_limit() {
        let svg = throughput(&course()).unwrap();
        // Twice as fast in the second second, and nothing from one stage to the next.
        assert_eq!(svg.matches(['M', 'L']).count() - svg.matches("MB").count(), 2, "{svg}");
        assert!(svg.contains("210 MB"), "{svg}");
        assert!(memory(&course(), 64 << 20).unwrap().contains("allowed"));
        assert!(!memory(&course(), 1 << 40).unwrap().contains("allowed"));
    }
}
