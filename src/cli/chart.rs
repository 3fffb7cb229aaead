//! Line charts on logarithmic axes, or an even one from 0 below, as SVG fit for a report: no script, no outside font.

pub(super) mod dots;

use crate::visible::visible;
use dots::Dots;
use std::fmt::Write;

/// A line.
pub struct Series {
    /// Written at its end.
    pub name: String,
    /// x ascending; both above zero.
    pub points: Vec<(f64, f64)>,
    /// Drawn dashed: the second of two variants.
    pub dashed: bool,
    /// Lines of one colour belong together; 0 is the strongest.
    pub colour: usize,
}

/// A chart.
pub struct Chart {
    /// The heading.
    pub title: String,
    /// One line below it.
    pub subtitle: String,
    /// Below the horizontal axis.
    pub x_label: String,
    /// Whether the horizontal axis is even, and begins at 0.
    pub even: bool,
    /// Above the vertical axis.
    pub y_label: String,
    /// The lines.
    pub series: Vec<Series>,
    /// A place on the horizontal axis, and what it is called.
    pub mark: Option<(f64, String)>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = 56.0;
/// Least distance between two labels at line ends.
const LEADING: f64 = 14.0;
/// Told apart with any colour vision (Okabe & Ito), dark enough on white.
pub const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#a6518a", "#8c6d00", "#2f8fbd", "#555555", "#000000"];

/// The ticks of a logarithmic axis: 1, 2 and 5 times powers of ten, or only powers when those are many.
pub fn ticks(lo: f64, hi: f64) -> Vec<f64> {
    let (first, last) = (libm::log10(lo).floor() as i32, libm::log10(hi).ceil() as i32);
    let steps: &[f64] = if last.saturating_sub(first) > 3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    (first..=last)
        .flat_map(|e| steps.iter().map(move |s| s * 10f64.powi(e)))
        .filter(|t| (lo * 0.999..=hi * 1.001).contains(t))
        .collect()
}

/// Those of an even axis from 0: at most eleven.
fn even_ticks(hi: f64) -> Vec<f64> {
    let power = 10f64.powf(libm::log10(hi).floor() - 1.0);
    let steps = [1.0, 2.0, 5.0, 10.0].map(|s| s * power);
    let step = steps.into_iter().find(|s| hi / s <= 10.0).unwrap_or(hi);
    (0..=10).map(|i| f64::from(i) * step).filter(|t| *t <= hi * 1.001).collect()
}

pub fn number(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    if (1e-3..1e5).contains(&x) {
        let text = format!("{x:.4}");
        return text.trim_end_matches('0').trim_end_matches('.').to_string();
    }
    let e = libm::log10(x).round() as i32;
    let digits = format!("{}", (x / 10f64.powi(e)).round());
    let power: String = e.to_string().chars().map(superscript).collect();
    if digits == "1" { format!("10{power}") } else { format!("{digits}·10{power}") }
}

fn superscript(c: char) -> char {
    match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        _ => c.to_digit(10).and_then(|d| char::from_u32(0x2070 + d)).unwrap_or(c),
    }
}

pub fn escaped(text: &str) -> String {
    visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Where labels go that want to stand at `ends` (ascending), `LEADING` apart: as near to them as that allows (least
/// squares, by pooling neighbours that are too close), and above `floor`.
pub fn apart(ends: &[f64], floor: f64) -> Vec<f64> {
    // Blocks of labels: the first one's place and how many there are.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for &end in ends {
        let mut block = (end, 1);
        while let Some(&(first, n)) = blocks.last()
            && first + n as f64 * LEADING > block.0
        {
            blocks.pop();
            let lifted = block.0 - n as f64 * LEADING;
            let all = n + block.1;
            block = ((first * n as f64 + lifted * block.1 as f64) / all as f64, all);
        }
        blocks.push(block);
    }
    let mut places: Vec<f64> =
        blocks.iter().flat_map(|&(first, n)| (0..n).map(move |k| first + k as f64 * LEADING)).collect();
    let mut floor = floor;
    for p in places.iter_mut().rev() {
        *p = p.min(floor);
        floor = *p - LEADING;
    }
    places
}

/// Whether a point has a place on logarithmic axes.
pub fn sound(&(x, y): &(f64, f64)) -> bool {
    x > 0.0 && y > 0.0 && x.is_finite() && y.is_finite()
}

/// Where `v` stands between `lo` (0) and `hi` (1) on a logarithmic axis.
pub fn log_scale(v: f64, lo: f64, hi: f64) -> f64 {
    if hi > lo { (v / lo).ln() / (hi / lo).ln() } else { 0.5 }
}

/// The start of a picture: its frame, its title, and at `y` what the vertical axis shows.
pub fn head(size: (f64, f64), title: &str, subtitle: &str, y_label: &str, y: f64) -> String {
    let ((width, height), title) = (size, escaped(title));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#333333\">\n\
         <title>{title}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"20\" y=\"28\" font-size=\"16\" font-weight=\"bold\" fill=\"#111111\">{title}</text>\n\
         <text x=\"20\" y=\"48\" fill=\"#666666\">{}</text>\n\
         <text x=\"20\" y=\"{y}\" fill=\"#666666\">{}</text>\n",
        escaped(subtitle),
        escaped(y_label)
    )
}

/// A named place on the horizontal axis.
fn mark(x: f64, bottom: f64, name: &str) -> String {
    format!(
        "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\" stroke=\"#888888\" stroke-dasharray=\"2 3\"/>\n\
         <text x=\"{:.1}\" y=\"{}\" fill=\"#666666\">{}</text>",
        x + 6.0,
        TOP + 10.0,
        escaped(name)
    )
}

/// Draws a chart. Lines without points are left out.
pub fn svg(chart: &Chart) -> String {
    svg_above(chart, &[])
}

/// Draws a chart, and clouds of dots below it.
pub(crate) fn svg_above(chart: &Chart, below: &[Dots]) -> String {
    let lines: Vec<(&Series, Vec<(f64, f64)>)> = chart
        .series
        .iter()
        .map(|s| (s, s.points.iter().copied().filter(sound).collect::<Vec<_>>()))
        .filter(|(_, p)| !p.is_empty())
        .collect();
    let range = |of: fn(&(f64, f64)) -> f64| {
        let all = lines.iter().flat_map(|(_, p)| p.iter().map(of));
        all.fold((f64::INFINITY, 0.0f64), |(lo, hi), v| (lo.min(v), hi.max(v)))
    };
    let (x0, x1) = range(|p| p.0);
    let (y0, y1) = range(|p| p.1);
    let (y0, y1) = (y0 / 1.15, y1 * 1.15);
    let (x0, x_ticks) = if chart.even { (0.0, even_ticks(x1)) } else { (x0, ticks(x0, x1)) };
    let along = |v: f64| if chart.even { v / x1 } else { log_scale(v, x0, x1) };
    let at_x = |v: f64| LEFT + (WIDTH - LEFT - RIGHT) * along(v);
    let at_y = |v: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * log_scale(v, y0, y1);
    let height = HEIGHT + below.len() as f64 * dots::HEIGHT;
    let mut out = head((WIDTH, height), &chart.title, &chart.subtitle, &chart.y_label, TOP - 12.0);
    // Writing to a String cannot fail.
    let mut put = |line: std::fmt::Arguments<'_>| {
        let _ = writeln!(out, "{line}");
    };
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    if x1 > 0.0 {
        for t in ticks(y0, y1) {
            let y = at_y(t);
            put(format_args!(
                "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#e4e4e4\"/>"
            ));
            put(format_args!(
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                y + 4.0,
                number(t)
            ));
        }
        for t in x_ticks {
            let x = at_x(t);
            put(format_args!(
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{bottom}\" y2=\"{}\" stroke=\"#888888\"/>",
                bottom + 5.0
            ));
            put(format_args!(
                "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 20.0,
                number(t)
            ));
        }
    }
    put(format_args!(
        "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\" stroke=\"#888888\"/>"
    ));
    put(format_args!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#666666\">{}</text>",
        (LEFT + right) / 2.0,
        HEIGHT - 14.0,
        escaped(&chart.x_label)
    ));
    if let Some((at, name)) = chart.mark.as_ref().filter(|(at, _)| (x0..=x1).contains(at)) {
        put(format_args!("{}", mark(at_x(*at), bottom, name)));
    }
    for (s, points) in &lines {
        let colour = COLOURS[s.colour % COLOURS.len()];
        let dash = if s.dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let path: Vec<String> =
            points.iter().map(|&(x, y)| format!("{:.1},{:.1}", at_x(x), at_y(y))).collect();
        put(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-linejoin=\"round\"{dash}/>",
            path.join(" ")
        ));
    }
    // Labels at the ends, pushed apart.
    let mut ends: Vec<(f64, &Series)> =
        lines.iter().filter_map(|(s, p)| Some((at_y(p.last()?.1), *s))).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places = apart(&ends.iter().map(|e| e.0).collect::<Vec<_>>(), bottom);
    for ((end, s), y) in ends.iter().zip(places) {
        let colour = COLOURS[s.colour % COLOURS.len()];
        let dash = if s.dashed { " stroke-dasharray=\"3 2\"" } else { "" };
        put(format_args!(
            "<polyline points=\"{right},{end:.1} {:.1},{y:.1} {:.1},{y:.1}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1\"{dash}/>",
            right + 12.0,
            right + 18.0
        ));
        put(format_args!(
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
            right + 22.0,
            y + 4.0,
            escaped(&s.name)
        ));
    }
    for (i, dots) in below.iter().enumerate() {
        dots.draw(HEIGHT + i as f64 * dots::HEIGHT, &mut out);
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_inside_and_round() {
        assert_eq!(ticks(0.1, 1.0), [0.1, 0.2, 0.5, 1.0]);
        assert_eq!(ticks(3.0, 40.0), [5.0, 10.0, 20.0]);
        assert_eq!(ticks(1.0, 1e6).len(), 7);
        assert_eq!(even_ticks(1.2), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0, 1.2000000000000002]);
        assert_eq!(even_ticks(40.0).len(), 9);
        assert_eq!([0.05, 2.0, 1e7, 2e-5].map(number), ["0.05", "2", "10⁷", "2·10⁻⁵"]);
    }

    #[test]
    fn labels_stand_apart_around_their_ends() {
        assert_eq!(apart(&[10.0, 100.0], 200.0), [10.0, 100.0]);
        assert_eq!(apart(&[50.0, 50.0, 50.0], 200.0), [36.0, 50.0, 64.0]);
        assert_eq!(apart(&[50.0, 50.0, 50.0], 60.0), [32.0, 46.0, 60.0]);
        assert_eq!(apart(&[0.0, 50.0, 52.0], 200.0), [0.0, 44.0, 58.0]);
        // Pushing two apart meets the third: then all three are moved together, from 88/3 on.
        let three = apart(&[30.0, 50.0, 50.0], 200.0);
        assert!(three.iter().zip([88.0, 130.0, 172.0]).all(|(p, thrice)| (3.0 * p - thrice).abs() < 1e-9));
    }

    #[test]
    fn text_is_escaped_and_odd_points_are_left_out() {
        let points = vec![(1.0, 2.0), (2.0, f64::INFINITY), (4.0, 1.0)];
        let series = vec![
            Series { name: "a<b".into(), points, dashed: true, colour: 9 },
            Series { name: "none".into(), points: Vec::new(), dashed: false, colour: 0 },
        ];
        let text = |s: &str| s.to_string();
        let chart = Chart {
            title: text("R&D"),
            subtitle: text(""),
            x_label: text("x"),
            even: false,
            y_label: text("y"),
            series,
            mark: Some((2.0, text("<own>"))),
        };
        let drawn = svg(&chart);
        assert!(
            drawn.contains("&lt;own&gt;")
                && drawn.contains("R&amp;D")
                && drawn.contains("a&lt;b")
                && !drawn.contains("none<")
        );
        assert!(!drawn.contains("inf") && !drawn.contains("NaN"));
        let empty = svg(&Chart { series: Vec::new(), ..chart });
        assert!(!empty.contains("inf") && !empty.contains("NaN"), "{empty}");
    }
}
