//! The outcome as a picture: rows a second against rows in the table, for each benchmark and pool.

use super::outcome::{Case, InsertOutcome};
use super::way::{Buffering, InsertWay, Point, Run, Step};
use crate::figure::grouped;
use crate::plot::{HEADING, MARGIN, Plot, SMALL, TOP, WIDTH, page};
use crate::svg::{Anchor, Ink, Svg};

/// Left of the axis, for its numbers; right of the lines, for their names.
const AXIS: f64 = 52.0;
const NAMES: f64 = 210.0;
/// Height of a plot, and what each takes with its headings.
const PLOT_HEIGHT: f64 = 240.0;
const CASE_HEIGHT: f64 = PLOT_HEIGHT + 92.0;
/// Between two names.
const NAME_GAP: f64 = 14.0;

/// A plot, and what its edges stand for: rows from left to right, a logarithm upwards.
struct Area {
    plot: Plot,
    rows: f64,
    low: f64,
    high: f64,
}

impl Area {
    fn x(&self, rows: u64) -> f64 {
        self.plot.x + rows as f64 / self.rows * self.plot.width
    }

    fn y(&self, rate: f64) -> f64 {
        let part = (rate.max(1.0).log10() - self.low) / (self.high - self.low);
        self.plot.y + self.plot.height * (1.0 - part.clamp(0.0, 1.0))
    }
}

/// The whole picture.
pub fn draw(outcome: &InsertOutcome) -> String {
    let height = TOP + CASE_HEIGHT * outcome.cases.len() as f64;
    let title = "Rows per second against rows in the table";
    let heading = "Insert Benchmark: rows/s against rows in the table";
    let mut svg = page(height, title, heading, "", &outcome.head);
    for (number, case) in outcome.cases.iter().enumerate() {
        let y = TOP + CASE_HEIGHT * number as f64;
        plot(&mut svg, case, outcome.rows + outcome.more_rows, y);
    }
    svg.finish()
}

/// One case, both steps side by side.
fn plot(svg: &mut Svg, case: &Case, rows: u64, y: f64) {
    let heading = format!(
        "{}, {}: buffer pool {:.0} MB, table {:.0} MB",
        case.version,
        case.pool.name(),
        case.pool_bytes as f64 / 1e6,
        case.table_bytes as f64 / 1e6
    );
    svg.heading((MARGIN, y + 8.0), HEADING, &heading);
    let rates = case.runs.iter().flat_map(|run| &run.points).map(|point| point.rows_per_second);
    let (least, most) =
        rates.fold((f64::MAX, 1.0_f64), |(least, most), rate| (least.min(rate), most.max(rate)));
    let low = least.clamp(1.0, most).log10().floor();
    let area = Area {
        plot: Plot {
            x: MARGIN + AXIS,
            y: y + 28.0,
            width: WIDTH - 2.0 * MARGIN - AXIS - NAMES,
            height: PLOT_HEIGHT,
        },
        rows: rows.max(1) as f64,
        low,
        high: most.log10().ceil().max(low + 1.0),
    };
    axes(svg, &area, rows);
    for run in &case.runs {
        let width = if run.buffering == Buffering::All { 1.0 } else { 2.0 };
        svg.line(&steps(&area, run), ink(run.way), width);
    }
    names(svg, &area, case);
}

fn axes(svg: &mut Svg, area: &Area, rows: u64) {
    for power in area.low as i32..=area.high as i32 {
        let rate = 10_f64.powi(power);
        area.plot.rule(svg, area.y(rate), &grouped(rate));
    }
    for part in 0..=4 {
        let at = rows * part / 4;
        area.plot.number(svg, area.x(at), &grouped(at as f64));
    }
    area.plot.axis(svg, "rows in the table; rows/s of each interval upwards");
}

/// The intervals of a run, each as long as the rows that it added.
fn steps(area: &Area, run: &Run) -> Vec<(f64, f64)> {
    let mut rows = run.rows_before;
    let mut points = Vec::new();
    for Point { rows: end, rows_per_second, .. } in &run.points {
        let y = area.y(*rows_per_second);
        points.extend([(area.x(rows), y), (area.x(*end), y)]);
        rows = *end;
    }
    points
}

/// Names on the right, at the height of the last intervals and below each other.
fn names(svg: &mut Svg, area: &Area, case: &Case) {
    let last = if case.step(Step::More).next().is_some() { Step::More } else { Step::First };
    let height = |run: &Run| run.points.last().map(|point| area.y(point.rows_per_second));
    let mut names: Vec<(f64, &Run)> =
        case.step(last).filter_map(|run| Some((height(run)?, run))).collect();
    names.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Pushed down by those above, then up by the edge.
    let mut lowest =
        area.plot.y + area.plot.height - NAME_GAP * names.len().saturating_sub(1) as f64;
    let mut highest = area.plot.y;
    for (y, run) in names {
        let y = y.max(highest).min(lowest.max(highest));
        let at = (area.plot.x + area.plot.width + 10.0, y + 4.0);
        svg.words(at, Anchor::Start, SMALL, ink(run.way), &run.name());
        highest = y + NAME_GAP;
        lowest += NAME_GAP;
    }
}

fn ink(way: InsertWay) -> Ink {
    match way {
        InsertWay::Insert => Ink::Other,
        InsertWay::LoadData => Ink::Data,
        InsertWay::Inrush(_) => Ink::Accent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_part_of_the_rows_and_of_the_logarithm() {
        let area = Area {
            plot: Plot { x: 100.0, y: 0.0, width: 50.0, height: PLOT_HEIGHT },
            rows: 200.0,
            low: 2.0,
            high: 4.0,
        };
        assert_eq!((area.x(0), area.x(100), area.x(200)), (100.0, 125.0, 150.0));
        assert_eq!((area.y(100.0), area.y(1e4)), (PLOT_HEIGHT, 0.0));
        assert!((area.y(1e3) - PLOT_HEIGHT / 2.0).abs() < 1e-9);
        assert_eq!(area.y(0.0), PLOT_HEIGHT, "what is below the least stays in the picture");
    }
}
