//! How exact each level of a dimension is whose groups differ in size, for people.

use super::{SHOWN, asked};
use crate::audit::wrap;
use crate::cli::chart::dots::{Cloud, Dots};
use crate::cli::output::{columns, figure, grouped};
use crate::planner::predict::Areas;
use crate::planner::{Planned, Request};
use crate::preview::levels::{both, levels, name};
use crate::preview::margins::{Margin, Margins};

/// A small table for each dimension whose groups differ in size.
pub(super) fn text(request: &Request, planned: &Planned, known: &Margins, all: bool) -> String {
    let areas = Areas::new(request, planned);
    let of = |d| of_dimension(&areas, request, planned, known, d, all);
    areas.dimensions().into_iter().map(of).collect()
}

/// One row: what it is of, how many categories and cells, the median, the worst and the share.
struct Row {
    name: String,
    counts: [String; 2],
    margins: Option<(Option<Margin>, Margin)>,
    share: String,
}

fn of_dimension(
    areas: &Areas,
    request: &Request,
    planned: &Planned,
    known: &Margins,
    dimension: usize,
    all: bool,
) -> String {
    let cube = &request.cube;
    let workload = &planned.plan.rows().workload;
    let (mut rows, mut more) = (Vec::new(), 0);
    for own in levels(areas, planned, dimension) {
        let categories = grouped(own.categories as u64);
        let mut share = format!("{:.0} %", 100.0 * own.share);
        if own.tables.is_empty() {
            let counts = [categories.clone(), String::new()];
            rows.push(Row {
                name: name(cube, dimension, own.level),
                counts,
                margins: None,
                share: share.clone(),
            });
        }
        for &t in &own.tables {
            if rows.len() >= SHOWN && !all {
                more += 1;
                continue;
            }
            rows.push(Row {
                name: asked::name(&workload[t], cube),
                counts: [categories.clone(), cube.cells(&workload[t].cuboid).map_or("many".into(), grouped)],
                margins: Some(both(areas, known, planned, dimension, t)),
                // Of all tables of a level together.
                share: std::mem::take(&mut share),
            });
        }
    }
    if rows.iter().all(|row| row.margins.is_none()) {
        return String::new();
    }
    let told = rows.iter().any(|row| row.margins.is_some_and(|(median, _)| median.is_some()));
    let untold = rows.iter().any(|row| row.margins.is_some_and(|(median, _)| median.is_none()));
    let shown = |(margin, exact): Margin| format!("{} {}", if exact { "±" } else { "≈" }, figure(margin));
    let cells = |row: Row| {
        let (median, worst) = match row.margins {
            Some((median, worst)) => (median.map_or("?".into(), shown), shown(worst)),
            None => Default::default(),
        };
        let [categories, of_cells] = row.counts;
        let median = told.then_some(median);
        [row.name, categories, of_cells].into_iter().chain(median).chain([worst, row.share]).collect()
    };
    let title = format!("levels of {}", cube.dimensions[dimension].name);
    let head = [title.as_str(), "categories", "cells"].into_iter();
    let head: Vec<&str> = head.chain(told.then_some("median")).chain(["worst", "budget"]).collect();
    let rows: Vec<Vec<String>> = rows.into_iter().map(cells).collect();
    let mut out = format!("\n{}", columns(&head, &rows));
    if more > 0 {
        out.push_str(&format!("  … and {} more tables: --all\n", grouped(more)));
    }
    let median = match told {
        true => "median, worst: the 95 % margin that half of the categories have at most, and the largest",
        false => "worst: the largest 95 % margin; that of half of the categories would take long to find",
    };
    let untold = if told && untold { "; ?: would take long to find" } else { "" };
    let note = format!(
        "({median}{untold}; budget: what a level takes of it, on average over the finest categories)"
    );
    out.push_str(&format!("  {}\n", wrap(&note, 76, 3)));
    out
}

/// For each such dimension a picture of margins by how much lies beneath a category: one table a level.
pub(super) fn pictures(request: &Request, planned: &Planned) -> Vec<Dots> {
    let areas = Areas::new(request, planned);
    let known = Margins::new(request, planned);
    let cube = &request.cube;
    let of = |dimension: usize| {
        let own = &cube.dimensions[dimension];
        let mut several = false;
        let mut clouds = Vec::new();
        for level in levels(&areas, planned, dimension) {
            several |= level.tables.len() > 1;
            let Some(&t) = level.tables.first() else { continue };
            let (Some(nodes), Some(spread)) = (areas.of(dimension, t), planned.prediction.tables.get(t))
            else {
                continue;
            };
            let mut beneath = vec![0u32; level.categories];
            for node in own.ancestors(own.finest(), level.level) {
                if let Some(n) = beneath.get_mut(node as usize) {
                    *n += 1;
                }
            }
            // By the law of the worst cell, and in proportion to standard errors.
            let times = known.of(t, spread.max).0 / spread.max.sqrt();
            let points = beneath.iter().zip(&nodes.variances);
            clouds.push(Cloud {
                name: name(cube, dimension, level.level),
                points: points.map(|(&n, v)| (f64::from(n), times * v.sqrt())).collect(),
            });
        }
        let several = if several { "; of several tables of a level the first" } else { "" };
        Dots {
            title: format!("Margin by size: {}", own.name),
            subtitle: format!("a dot: categories that are alike{several}{}", super::counts_alone(request)),
            x_label: format!("finest categories of {} beneath a category", own.name),
            y_label: "95 % margin of a category's cell that is known least well".into(),
            clouds,
        }
    };
    areas.dimensions().into_iter().map(of).filter(|dots| !dots.clouds.is_empty()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::preview::levels::to_json;
    use std::path::Path;

    fn planned(dimensions: &[&str], rest: &str) -> (Request, Planned) {
        let mut text = "name = \"m\"\ntitle = \"M\"\n[privacy]\nunit = \"row\"\nrho = 1\n".to_owned();
        for name in dimensions {
            text += &format!(
                "[[dimension]]\nname = \"{name}\"\nrange = [0, 10]\nlevels = [{{ name = \"g\", cuts = [1, 4] }}]\n"
            );
        }
        text += rest;
        let nowhere = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let request = crate::spec::parse(&text, Path::new("m.toml"), nowhere).unwrap().request().unwrap();
        let planned = crate::planner::plan(&request).unwrap();
        let request = request.over(planned.plan.measure).into_owned();
        (request, planned)
    }

    fn tables(of: &[&str], measure: &str) -> String {
        let tables: String = of.iter().map(|of| format!("[[table]]\nof = [{of}]\n")).collect();
        format!("{tables}[strategy]\nmeasure = \"{measure}\"\n")
    }

    /// Several tables of a level have a line each, and its part of the budget once; the list may be cut off.
    #[test]
    fn a_line_for_each_table() {
        let (request, planned) = planned(&["x"], &tables(&["\"x.g\"", "\"x\""], "residual"));
        let known = Margins::new(&request, &planned);
        let shown = text(&request, &planned, &known, false);
        let lines: Vec<&str> = shown.lines().filter(|l| l.contains('±') || l.contains("not by")).collect();
        assert_eq!(lines.len(), 3, "{shown}");
        let numbers = |line: &str, at: usize| -> f64 {
            line.split('±').nth(at).unwrap().split_whitespace().next().unwrap().parse().unwrap()
        };
        assert!(lines.iter().skip(1).all(|l| numbers(l, 1) <= numbers(l, 2)), "{shown}");
        let share = |line: &&str| line.split_whitespace().rev().nth(1).unwrap().parse::<f64>().unwrap();
        assert!((lines.iter().map(share).sum::<f64>() - 100.0).abs() < 2.0, "{shown}");
        let told = to_json(&request, &planned, &known);
        assert_eq!(told[0]["levels"][1]["tables"][0]["cells"], 3);
        assert_eq!(told[0]["levels"][2]["level"], "x");
        assert!(told[0]["levels"][2]["tables"][0]["median_margin95"].as_f64() > Some(0.1));
    }

    /// Over whole tables beside another tree no median is told, and nothing is drawn.
    #[test]
    fn left_out_where_it_takes_long() {
        let (request, planned) =
            planned(&["x", "y"], &tables(&["\"x.g\", \"y\"", "\"x\", \"y.g\""], "queries"));
        let known = Margins::new(&request, &planned);
        let shown = text(&request, &planned, &known, false);
        assert!(
            !shown.contains("median") && shown.contains("that of half of the categories would take"),
            "{shown}"
        );
        assert_eq!(shown.matches("levels of").count(), 2);
        let told = to_json(&request, &planned, &known);
        assert!(told[1]["levels"][1]["tables"][0]["median_margin95"].is_null());
        assert!(told[1]["levels"][1]["tables"][0]["margin95"].as_f64() > Some(0.1));
        assert!(pictures(&request, &planned).is_empty());
    }

    /// Groups of one size need no such table.
    #[test]
    fn nothing_where_groups_are_alike() {
        let (request, planned) = planned(&["x"], &tables(&["\"x\""], "residual"));
        let known = Margins::new(&request, &planned);
        assert!(text(&request, &planned, &known, false).is_empty());
        assert!(to_json(&request, &planned, &known).is_empty() && pictures(&request, &planned).is_empty());
    }

    #[test]
    fn dots_are_as_many_and_as_high_as_what_they_stand_for() {
        let (request, planned) = planned(&["x"], &tables(&["\"x.g\"", "\"x\""], "residual"));
        let known = Margins::new(&request, &planned);
        let dots = pictures(&request, &planned);
        let [groups, finest] = &dots[0].clouds[..] else { panic!("{}", dots[0].clouds.len()) };
        // 0, 1 to 3, and 4 to 10.
        assert_eq!(groups.points.iter().map(|p| p.0).collect::<Vec<_>>(), [1.0, 3.0, 7.0]);
        assert!(finest.points.len() == 11 && finest.points.iter().all(|p| p.0 == 1.0));
        for (t, cloud) in dots[0].clouds.iter().enumerate() {
            let highest = cloud.points.iter().map(|p| p.1).fold(0.0, f64::max);
            let worst = known.of(t, planned.prediction.tables[t].max).0;
            assert!((highest / worst - 1.0).abs() < 1e-9, "{highest} {worst}");
        }
    }
}
