//! Small multiples: several line charts on common logarithmic axes in one picture, for comparing at a glance.

use margins::cli::chart::{COLOURS, Series, apart, escaped, head, log_scale, number, sound, ticks};
use std::fmt::Write;

/// One chart of many.
pub(crate) struct Panel {
    /// Above it.
    pub title: String,
    /// In grey after the title.
    pub remark: String,
    /// The lines. Only solid ones have their names written at their ends.
    pub series: Vec<Series>,
}

/// A picture of panels.
pub(crate) struct Panels {
    /// The heading.
    pub title: String,
    /// One line below it.
    pub subtitle: String,
    /// Below the picture.
    pub x_label: String,
    /// Above the panels.
    pub y_label: String,
    /// Row by row, three to a row.
    pub panels: Vec<Panel>,
}

const COLUMNS: usize = 3;
const PLOT: (f64, f64) = (205.0, 240.0);
/// Room for the names at the lines' ends.
const NAMES: f64 = 76.0;
const LEFT: f64 = 58.0;
const TOP: f64 = 82.0;
/// A panel's title above and its ticks below.
const TITLE: f64 = 30.0;
const TICKS: f64 = 30.0;
const BOTTOM: f64 = 34.0;

/// Where one panel is, and what its axes span.
struct Frame {
    left: f64,
    bottom: f64,
    x: (f64, f64),
    y: (f64, f64),
    /// The first of a row has the numbers of the ordinate.
    first: bool,
}

impl Frame {
    fn at_x(&self, v: f64) -> f64 {
        self.left + PLOT.0 * log_scale(v, self.x.0, self.x.1)
    }

    fn at_y(&self, v: f64) -> f64 {
        self.bottom - PLOT.1 * log_scale(v, self.y.0, self.y.1)
    }
}

/// A picture that is being drawn.
struct Drawing(String);

impl Drawing {
    fn put(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{line}");
    }

    fn axes(&mut self, frame: &Frame) {
        let (left, right, bottom) = (frame.left, frame.left + PLOT.0, frame.bottom);
        // Without a point there is no scale.
        let scaled = frame.x.1 > 0.0;
        let ticks_of = |(lo, hi)| if scaled { ticks(lo, hi) } else { Vec::new() };
        for t in ticks_of(frame.y) {
            let y = frame.at_y(t);
            self.put(format_args!(
                "<line x1=\"{left}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#e4e4e4\"/>"
            ));
            if frame.first {
                self.put(format_args!(
                    "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                    left - 8.0,
                    y + 4.0,
                    number(t)
                ));
            }
        }
        for t in ticks_of(frame.x) {
            let x = frame.at_x(t);
            self.put(format_args!(
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{bottom}\" y2=\"{}\" stroke=\"#888888\"/>",
                bottom + 4.0
            ));
            self.put(format_args!(
                "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" font-size=\"11\">{}</text>",
                bottom + 17.0,
                number(t)
            ));
        }
        self.put(format_args!(
            "<line x1=\"{left}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\" stroke=\"#888888\"/>"
        ));
    }

    /// The lines, and the names at the ends of solid ones.
    fn series(&mut self, frame: &Frame, series: &[Series]) {
        let mut ends: Vec<(f64, &Series)> = Vec::new();
        // The first named is the best known: it is drawn last, on top.
        for s in series.iter().rev() {
            let points: Vec<(f64, f64)> = s.points.iter().copied().filter(sound).collect();
            let Some(&(_, last)) = points.last() else { continue };
            let path: Vec<String> =
                points.iter().map(|&(x, y)| format!("{:.1},{:.1}", frame.at_x(x), frame.at_y(y))).collect();
            self.put(format_args!(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{}/>",
                path.join(" "),
                COLOURS[s.colour % COLOURS.len()],
                if s.dashed { " stroke-dasharray=\"5 4\"" } else { "" }
            ));
            if !s.dashed {
                ends.push((frame.at_y(last), s));
            }
        }
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let places = apart(&ends.iter().map(|e| e.0).collect::<Vec<_>>(), frame.bottom);
        let right = frame.left + PLOT.0;
        for ((end, s), y) in ends.iter().zip(places) {
            let colour = COLOURS[s.colour % COLOURS.len()];
            self.put(format_args!(
                "<polyline points=\"{:.1},{end:.1} {:.1},{y:.1}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1\"/>",
                right + 2.0,
                right + 10.0
            ));
            self.put(format_args!(
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
                right + 13.0,
                y + 4.0,
                escaped(&s.name)
            ));
        }
    }
}

/// Draws the panels. Points that have no place on logarithmic axes are left out.
pub(crate) fn svg(picture: &Panels) -> String {
    let range = |of: fn(&(f64, f64)) -> f64| {
        let points = picture.panels.iter().flat_map(|p| &p.series).flat_map(|s| s.points.iter().copied());
        points
            .filter(sound)
            .map(|p| of(&p))
            .fold((f64::INFINITY, 0.0f64), |(lo, hi), v| (lo.min(v), hi.max(v)))
    };
    let (x, y) = (range(|p| p.0), range(|p| p.1));
    let y = (y.0 / 1.2, y.1 * 1.2);
    let columns = picture.panels.len().clamp(1, COLUMNS);
    let rows = picture.panels.len().div_ceil(COLUMNS).max(1);
    let (step_x, step_y) = (PLOT.0 + NAMES, TITLE + PLOT.1 + TICKS);
    let width = LEFT + columns as f64 * step_x + 8.0;
    let height = TOP + rows as f64 * step_y + BOTTOM;
    let head = head((width, height), &picture.title, &picture.subtitle, &picture.y_label, TOP - 10.0);
    let mut out = Drawing(head);
    for (i, panel) in picture.panels.iter().enumerate() {
        let left = LEFT + (i % COLUMNS) as f64 * step_x;
        let top = TOP + (i / COLUMNS) as f64 * step_y + TITLE;
        out.put(format_args!(
            "<text x=\"{left}\" y=\"{}\"><tspan font-weight=\"bold\" fill=\"#111111\">{}</tspan> \
             <tspan fill=\"#666666\" dx=\"4\">{}</tspan></text>",
            top - 9.0,
            escaped(&panel.title),
            escaped(&panel.remark)
        ));
        let frame = Frame { left, bottom: top + PLOT.1, x, y, first: i % COLUMNS == 0 };
        out.axes(&frame);
        out.series(&frame, &panel.series);
    }
    out.put(format_args!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#666666\">{}</text>",
        LEFT + (width - LEFT) / 2.0,
        height - 14.0,
        escaped(&picture.x_label)
    ));
    out.put(format_args!("</svg>"));
    out.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_panel_is_there_and_numbers_are_finite() {
        let panel = |title: &str, points: Vec<(f64, f64)>| Panel {
            title: title.into(),
            remark: "2 tables".into(),
            series: [false, true]
                .map(|dashed| Series { name: "a<b".into(), points: points.clone(), dashed, colour: 9 })
                .into(),
        };
        let mut picture = Panels {
            title: "R&D".into(),
            subtitle: String::new(),
            x_label: "x".into(),
            y_label: "y".into(),
            panels: (0..4)
                .map(|i| panel(&format!("Q{i}"), vec![(1.0, 2.0), (2.0, f64::NAN), (4.0, 1.0)]))
                .collect(),
        };
        let drawn = svg(&picture);
        assert!((0..4).all(|i| drawn.contains(&format!(">Q{i}<"))) && drawn.contains("R&amp;D"));
        assert_eq!(drawn.matches("a&lt;b").count(), 4, "solid lines are named, dashed ones are not");
        assert_eq!(drawn.matches("<polyline").count(), 4 * 3);
        picture.panels = vec![panel("none", Vec::new())];
        let empty = svg(&picture);
        picture.panels.clear();
        for text in [drawn, empty, svg(&picture)] {
            assert!(!text.contains("inf") && !text.contains("NaN"), "{text}");
        }
    }
}
