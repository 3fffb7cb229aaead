//! Clouds of dots on logarithmic axes, below a chart: each with a form and a colour of its own, and its name beside it.

use super::{COLOURS, LEFT, RIGHT, WIDTH, apart, escaped, log_scale, number, sound, ticks};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Dots of one kind.
pub(crate) struct Cloud {
    /// Written beside it.
    pub(crate) name: String,
    /// Both above zero; those that fall together are drawn once.
    pub(crate) points: Vec<(f64, f64)>,
}

/// A picture of clouds.
pub(crate) struct Dots {
    /// The heading.
    pub(crate) title: String,
    /// After it, in grey.
    pub(crate) subtitle: String,
    /// Below the horizontal axis.
    pub(crate) x_label: String,
    /// Above the vertical axis.
    pub(crate) y_label: String,
    /// Each of them, the first drawn first.
    pub(crate) clouds: Vec<Cloud>,
}

/// What a picture takes of the height.
pub(super) const HEIGHT: f64 = 430.0;
const TOP: f64 = 78.0;
const BOTTOM: f64 = 56.0;
/// Dots nearer to each other than this are drawn as one.
const GRAIN: f64 = 2.0;
/// The longest name that has room.
const LONGEST: usize = 26;

/// How the dots of the clouds look, one after the other.
const FORMS: [fn(f64, f64) -> String; 4] = [
    |x, y| format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.4\"/>"),
    |x, y| format!("<rect x=\"{:.1}\" y=\"{:.1}\" width=\"6\" height=\"6\"/>", x - 3.0, y - 3.0),
    |x, y| format!("<path d=\"M{x:.1} {:.1}l4 7h-8z\"/>", y - 4.4),
    |x, y| format!("<path d=\"M{x:.1} {:.1}l4.3 4.3-4.3 4.3-4.3-4.3z\"/>", y - 4.3),
];

/// The ticks of a logarithmic axis, and round numbers at even distances where it is too short for those.
fn near_ticks(lo: f64, hi: f64) -> Vec<f64> {
    let all = ticks(lo, hi);
    if all.len() > 2 || !(hi > lo) {
        return all;
    }
    let power = 10f64.powf(libm::log10(hi - lo).floor() - 1.0);
    let steps = [1.0, 2.0, 5.0, 10.0, 20.0].map(|s| s * power);
    let step = steps.into_iter().find(|s| (hi - lo) / s <= 8.0).unwrap_or(hi - lo);
    let first = (lo / step).ceil();
    let tick = |i: u32| (first + f64::from(i)) * step;
    (0..=8).map(tick).filter(|t| *t <= hi).collect()
}

impl Dots {
    /// The elements of the picture, `top` pixels down.
    pub(super) fn draw(&self, top: f64, out: &mut String) {
        // Writing to a String cannot fail.
        let mut put = |line: std::fmt::Arguments<'_>| {
            let _ = writeln!(out, "{line}");
        };
        let (title, subtitle) = (escaped(&self.title), escaped(&self.subtitle));
        put(format_args!(
            "<text x=\"20\" y=\"{}\" font-size=\"14\" font-weight=\"bold\" fill=\"#111111\">{title}</text>\n\
             <text x=\"20\" y=\"{}\" fill=\"#666666\">{subtitle}</text>\n\
             <text x=\"20\" y=\"{}\" fill=\"#666666\">{}</text>",
            top + 24.0,
            top + 42.0,
            top + TOP - 12.0,
            escaped(&self.y_label)
        ));
        let all = || self.clouds.iter().flat_map(|c| &c.points).filter(|p| sound(p));
        let range = |of: fn(&(f64, f64)) -> f64, room: f64| {
            let (lo, hi) = all().map(of).fold((f64::INFINITY, 0.0f64), |(lo, hi), v| (lo.min(v), hi.max(v)));
            (lo / room, hi * room)
        };
        let (x, y) = (range(|p| p.0, 1.25), range(|p| p.1, 1.1));
        if !(x.1 > 0.0) {
            return;
        }
        let (right, bottom) = (WIDTH - RIGHT, top + HEIGHT - BOTTOM);
        let at_x = |v: f64| LEFT + (right - LEFT) * log_scale(v, x.0, x.1);
        let at_y = |v: f64| bottom - (HEIGHT - TOP - BOTTOM) * log_scale(v, y.0, y.1);
        for t in near_ticks(y.0, y.1) {
            let (y, text) = (at_y(t), number(t));
            put(format_args!(
                "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#e4e4e4\"/>\n\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                LEFT - 8.0,
                y + 4.0
            ));
        }
        for t in ticks(x.0.max(1.0), x.1) {
            let (x, text) = (at_x(t), number(t));
            put(format_args!(
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{bottom}\" y2=\"{}\" stroke=\"#888888\"/>\n\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
                bottom + 5.0,
                bottom + 20.0
            ));
        }
        put(format_args!(
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\" stroke=\"#888888\"/>\n\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#666666\">{}</text>",
            (LEFT + right) / 2.0,
            bottom + 42.0,
            escaped(&self.x_label)
        ));
        let mut ends: Vec<(f64, usize)> = Vec::new();
        for (i, cloud) in self.clouds.iter().enumerate() {
            let (colour, form) = (COLOURS[i % COLOURS.len()], FORMS[i % FORMS.len()]);
            let mut drawn: BTreeMap<(i64, i64), (f64, f64)> = BTreeMap::new();
            for &(px, py) in cloud.points.iter().filter(|p| sound(p)) {
                let (px, py) = (at_x(px), at_y(py));
                drawn.entry(((px / GRAIN) as i64, (py / GRAIN) as i64)).or_insert((px, py));
            }
            let Some((_, &last)) = drawn.last_key_value() else { continue };
            ends.push((last.1, i));
            let dots: String = drawn.values().map(|&(x, y)| form(x, y)).collect();
            put(format_args!("<g fill=\"{colour}\" fill-opacity=\"0.6\">{dots}</g>"));
        }
        // Names beside the picture, each as high as its cloud ends.
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let places = apart(&ends.iter().map(|e| e.0).collect::<Vec<_>>(), bottom);
        for (&(_, i), y) in ends.iter().zip(places) {
            let (colour, form) = (COLOURS[i % COLOURS.len()], FORMS[i % FORMS.len()]);
            let name: String = match self.clouds[i].name.char_indices().nth(LONGEST) {
                Some((at, _)) => format!("{}…", self.clouds[i].name.get(..at).unwrap_or_default()),
                None => self.clouds[i].name.clone(),
            };
            put(format_args!(
                "<g fill=\"{colour}\">{}<text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
                form(right + 14.0, y),
                right + 24.0,
                y + 4.0,
                escaped(&name)
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(clouds: Vec<Cloud>) -> String {
        let text = |s: &str| s.to_string();
        let (title, subtitle) = (text("A&B"), text("<dots>"));
        let dots = Dots { title, subtitle, x_label: text("x"), y_label: text("y"), clouds };
        let mut out = String::new();
        dots.draw(480.0, &mut out);
        out
    }

    #[test]
    fn short_axes_have_ticks_too() {
        assert_eq!(near_ticks(0.1, 1.0), [0.1, 0.2, 0.5, 1.0]);
        assert_eq!(near_ticks(2.2, 6.6), [3.0, 4.0, 5.0, 6.0]);
        let shown: Vec<String> = near_ticks(2.861, 2.899).into_iter().map(number).collect();
        assert_eq!(shown, ["2.865", "2.87", "2.875", "2.88", "2.885", "2.89", "2.895"]);
        assert_eq!(near_ticks(3.0, 3.0), Vec::<f64>::new());
    }

    #[test]
    fn dots_that_fall_together_are_one_and_odd_ones_none() {
        let points = vec![(1.0, 2.0), (1.0, 2.0001), (10.0, 8.0), (3.0, f64::INFINITY), (0.0, 1.0)];
        let cloud = |name: &str, points| Cloud { name: name.into(), points };
        let out = drawn(vec![
            cloud("a<b", points),
            cloud("none", Vec::new()),
            cloud(&"n".repeat(40), vec![(2.0, 3.0)]),
        ]);
        // Two dots and one beside the name.
        assert_eq!(out.matches("<circle").count(), 3, "{out}");
        assert_eq!(out.matches("<path").count(), 2, "{out}");
        assert!(out.contains("a&lt;b") && out.contains("A&amp;B") && !out.contains("none"));
        assert!(out.contains(&format!(">{}…<", "n".repeat(LONGEST))));
        assert!(!out.contains("inf") && !out.contains("NaN"));
        let empty = drawn(Vec::new());
        assert!(!empty.contains("inf") && !empty.contains("NaN"), "{empty}");
    }

    /// One dot alone stands in the middle.
    #[test]
    fn one_dot() {
        let out = drawn(vec![Cloud { name: "a".into(), points: vec![(1.0, 4.0)] }]);
        assert!(!out.contains("NaN") && out.contains("cx="), "{out}");
    }
}
