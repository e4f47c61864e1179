//! The outcome as a picture: both sweeps, the whole grid, and the loads beside its best cells.

use super::grid::{Grid, Measured};
use super::loads::{BatchWay, Loads};
use super::outcome::BatchOutcome;
use crate::figure::{grouped, short};
use crate::plot::{HEADING, MARGIN, NORMAL, Plot, SMALL, TOP, WIDTH, page};
use crate::svg::{Anchor, Ink, Svg};

/// Between two pictures side by side.
const GAP: f64 = 48.0;
/// Left of the left axis, for its numbers.
const AXIS: f64 = 44.0;
const SWEEP_HEIGHT: f64 = 220.0;
const GRID_ROW: f64 = 28.0;
const BAR_ROW: f64 = 26.0;
/// Width of the names of bars.
const BAR_NAMES: f64 = 264.0;

/// The whole picture.
pub fn draw(outcome: &BatchOutcome) -> String {
    let grid = &outcome.grid;
    let whole = grid.is_whole();
    let grid_height = if whole { 88.0 + GRID_ROW * grid.batches.len() as f64 } else { 0.0 };
    let bars_height = 76.0 + BAR_ROW * outcome.loads.ways.len() as f64;
    let sweeps_bottom = TOP + 24.0 + SWEEP_HEIGHT + 64.0;
    let height = sweeps_bottom + grid_height + bars_height;
    let title = "Rows per second by batch size and threads";
    let heading = "Rows/s by batch size and threads";
    let what = format!("sbtest1, {} rows a cell; ", grouped(outcome.rows as f64));
    let mut svg = page(height, title, heading, &what, &outcome.head);
    sweeps(&mut svg, grid);
    if whole {
        heat(&mut svg, grid, sweeps_bottom);
    }
    bars(&mut svg, &outcome.loads, sweeps_bottom + grid_height);
    svg.finish()
}

/// Both sweeps side by side, on one scale.
fn sweeps(svg: &mut Svg, grid: &Grid) {
    let (by_batch, by_threads) = (grid.batch_sweep(), grid.thread_sweep());
    let all = by_batch.iter().chain(&by_threads);
    let top = round_up(all.map(|cell| cell.rows_per_second_max).fold(0.0, f64::max));
    let width = (WIDTH - 2.0 * MARGIN - GAP) / 2.0;
    let left = Plot { x: MARGIN + AXIS, y: TOP + 24.0, width: width - AXIS, height: SWEEP_HEIGHT };
    let right = Plot { x: left.x + width + GAP, ..left };
    svg.heading((MARGIN, TOP), HEADING, &format!("Batch sizes, {} threads", grid.at_threads));
    let points: Vec<_> = by_batch.iter().map(|&cell| (cell.cell.batch, cell)).collect();
    sweep(svg, left, &points, top, "rows of an INSERT");
    let heading = format!("Threads, {} rows an INSERT", grouped(grid.at_batch as f64));
    svg.heading((right.x - AXIS, TOP), HEADING, &heading);
    let points: Vec<_> = by_threads.iter().map(|&cell| (cell.cell.threads, cell)).collect();
    sweep(svg, right, &points, top, "threads, each with a connection");
}

/// One line with the spread of its runs.
fn sweep(svg: &mut Svg, plot: Plot, points: &[(usize, &Measured)], top: f64, axis: &str) {
    let bottom = plot.y + plot.height;
    let y = |rate: f64| bottom - rate / top * plot.height;
    for part in 0..=4 {
        let rate = top * f64::from(part) / 4.0;
        plot.rule(svg, y(rate), &short(rate));
    }
    let step = plot.width / points.len().max(1) as f64;
    let x = |index: usize| plot.x + step * (index as f64 + 0.5);
    let best = points.iter().map(|(_, cell)| cell.rows_per_second).fold(0.0, f64::max);
    let line: Vec<_> = (points.iter().enumerate())
        .map(|(index, (_, cell))| (x(index), y(cell.rows_per_second)))
        .collect();
    svg.line(&line, Ink::Data, 2.0);
    for (index, (label, cell)) in points.iter().enumerate() {
        let (x, rate) = (x(index), cell.rows_per_second);
        let spread = [(x, y(cell.rows_per_second_min)), (x, y(cell.rows_per_second_max))];
        svg.line(&spread, Ink::Data, 1.0);
        svg.dot((x, y(rate)), 4.0, Ink::Data);
        plot.number(svg, x, &grouped(*label as f64));
        if rate == best {
            let above = y(cell.rows_per_second_max) - 8.0;
            svg.words((x, above), Anchor::Middle, NORMAL, Ink::Text, &short(rate));
        }
    }
    plot.axis(svg, axis);
}

/// The grid, a row a batch size; the fuller the colour the faster, the best cell framed.
fn heat(svg: &mut Svg, grid: &Grid, y: f64) {
    svg.heading(
        (MARGIN, y + 16.0),
        HEADING,
        "Every batch size with every number of threads, rows/s",
    );
    let names = MARGIN + 64.0;
    let column = (WIDTH - MARGIN - names) / grid.threads.len() as f64;
    let top = y + 52.0;
    let head = top - 8.0;
    svg.words((names - 10.0, head), Anchor::End, SMALL, Ink::Muted, "rows");
    let best = grid.best(1).first().map(|best| best.cell);
    let most = grid.best(1).first().map_or(1.0, |best| best.rows_per_second.max(1.0));
    for (index, threads) in grid.threads.iter().enumerate() {
        let middle = names + column * (index as f64 + 0.5);
        let words = if *threads == 1 { "1 thread".to_owned() } else { threads.to_string() };
        svg.words((middle, head), Anchor::Middle, SMALL, Ink::Muted, &words);
    }
    for (line, &batch) in grid.batches.iter().enumerate() {
        let y = top + GRID_ROW * line as f64;
        let base = y + GRID_ROW / 2.0 + 4.0;
        svg.words((names - 10.0, base), Anchor::End, SMALL, Ink::Muted, &grouped(batch as f64));
        for (index, &threads) in grid.threads.iter().enumerate() {
            let Some(cell) = grid.get(batch, threads) else { continue };
            let (x, part) = (names + column * index as f64, cell.rows_per_second / most);
            let (at, size) = ((x + 1.0, y + 1.0), (column - 2.0, GRID_ROW - 2.0));
            svg.rect(at, size, Ink::Data, 0.06 + 0.94 * part);
            let ink = if part > 0.6 { Ink::OnData } else { Ink::Text };
            let middle = (x + column / 2.0, base);
            svg.words(middle, Anchor::Middle, NORMAL, ink, &short(cell.rows_per_second));
            if best == Some(cell.cell) {
                svg.frame(at, size, Ink::Accent);
            }
        }
    }
}

/// The loads, a bar each, with the ratio to the best cell.
fn bars(svg: &mut Svg, loads: &Loads, y: f64) {
    let heading = format!("Loads of {} rows into the empty table", grouped(loads.rows as f64));
    svg.heading((MARGIN, y + 16.0), HEADING, &heading);
    let explained = "rows/s, in brackets as parts of the best cell's";
    svg.words((MARGIN, y + 34.0), Anchor::Start, SMALL, Ink::Muted, explained);
    let most = loads.ways.iter().map(|load| load.rows_per_second).fold(1.0, f64::max);
    let best = loads.best_cell().map_or(0.0, |(_, load)| load.rows_per_second);
    let names = MARGIN + BAR_NAMES;
    let room = WIDTH - MARGIN - names - 110.0;
    for (index, load) in loads.ways.iter().enumerate() {
        let y = y + 48.0 + BAR_ROW * index as f64;
        let base = y + BAR_ROW / 2.0 + 4.0;
        let ink = match load.way {
            BatchWay::Cell(_) => Ink::Data,
            BatchWay::LoadData => Ink::Other,
            BatchWay::Inrush(_) | BatchWay::Fixed(..) => Ink::Accent,
        };
        // Told what to do: not what the benchmark is about.
        let opacity = if matches!(load.way, BatchWay::Fixed(..)) { 0.5 } else { 1.0 };
        svg.words((names - 10.0, base), Anchor::End, NORMAL, Ink::Text, &load.way.name());
        let width = room * load.rows_per_second / most;
        svg.rect((names, y + 4.0), (width, BAR_ROW - 8.0), ink, opacity);
        let mut value = short(load.rows_per_second);
        if best > 0.0 {
            value = format!("{value} ({:.2})", load.rows_per_second / best);
        }
        svg.words((names + width + 8.0, base), Anchor::Start, NORMAL, Ink::Text, &value);
    }
}

/// The next of 1, 2, 4, 6, 8 times a power of ten: a top of four equal parts.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1.0).log10().floor());
    let steps = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0];
    let step = steps.into_iter().find(|step| step * power >= value);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_a_round_number_above_the_data() {
        for (value, top) in [(0.0, 1.0), (61_000.0, 80_000.0), (80_000.0, 80_000.0), (9.1, 10.0)] {
            assert_eq!(round_up(value), top);
        }
    }
}
