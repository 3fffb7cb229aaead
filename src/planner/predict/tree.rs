//! Sums of neighbouring nodes of one dimension, measured at several of its levels: least squares over a tree, without a system to solve.
//!
//! With weights `w_j` at level j the normal matrix of the finest cells is `D + Σ_v w_v 1_v 1_vᵀ` over all nodes v of coarser levels.
//! Bottom-up each of these terms changes the inverse below its node by one outer product (Sherman & Morrison 1950):
//! `B ← B − c y yᵀ` with `y = B 1_v`, `c = w/(1 + w 1_vᵀy)`; and what the next level needs, `B 1`, only shrinks by a factor in each node.
//! So `N⁻¹ = D⁻¹ − Σ_v c_v y_v y_vᵀ`, groups of whatever sizes.

use crate::cube::{Axis, Frame};
use crate::plan::{Asks, Ranges, Seen, Table};
use crate::planner::closure::Spread;
use crate::recover::gls::Weighted;

/// One level: the node above each cell, `c_v` of each node, `y_v` at each cell.
struct Level {
    node: Vec<u32>,
    c: Vec<f64>,
    y: Vec<f64>,
}

/// Mean and largest variance of what is asked of a table of one dimension; `None` where something else is measured, too.
pub(super) fn spread(frame: &Frame, measured: &[Weighted], table: &Table) -> Option<Spread> {
    let (Asks::Product(of), [own]) = (&table.asks, &table.cuboid.iter().collect::<Vec<_>>()[..]) else {
        return None;
    };
    let [(_, asked)] = &of[..] else { return None };
    let axis = frame.axes.get(own.dimension)?;
    let r = axis.rung(own.level)?;
    let mut weight = vec![0.0; r + 1];
    for t in measured {
        let within = t.cuboid.iter().all(|l| l.dimension == own.dimension && l.level <= own.level);
        if t.seen != Seen::Cells || !within {
            return None;
        }
        *weight.get_mut(axis.rung(t.cuboid.level(own.dimension))?)? += t.weight;
    }
    let finest = weight.pop().filter(|w| *w > 0.0)?;
    let levels = levels(axis, r, finest, &weight);
    let cells = axis.rungs[r].len() as u32;
    let mut sum = asked.held(cells.into()) * f64::from(cells) / finest;
    for level in &levels {
        let mut members: Vec<Vec<(u32, f64)>> = vec![Vec::new(); level.c.len()];
        level
            .node
            .iter()
            .zip(&level.y)
            .zip(0u32..)
            .for_each(|((&v, &y), i)| members[v as usize].push((i, y)));
        sum -= level.c.iter().zip(&members).map(|(c, m)| c * asked.squares(cells, m)).sum::<f64>();
    }
    let mean = sum / asked.queries(cells.into());
    Some(Spread { mean, max: largest(&levels, finest, cells, asked).max(mean) })
}

/// All levels above the cells of rung `r` that were measured, the finest first.
fn levels(axis: &Axis, r: usize, own: f64, weight: &[f64]) -> Vec<Level> {
    let n = axis.rungs[r].len();
    let mut node: Vec<u32> = (0..n as u32).collect();
    let mut y = vec![1.0 / own; n];
    let mut out = Vec::new();
    for (j, &w) in weight.iter().enumerate().rev() {
        node.iter_mut().for_each(|v| *v = axis.rungs[j + 1].parent[*v as usize]);
        if w == 0.0 {
            continue;
        }
        let mut sum = vec![0.0; axis.rungs[j].len()];
        node.iter().zip(&y).for_each(|(&v, y)| sum[v as usize] += y);
        let c: Vec<f64> = sum.iter().map(|s| w / (1.0 + w * s)).collect();
        out.push(Level { node: node.clone(), c: c.clone(), y: y.clone() });
        for (y, &v) in y.iter_mut().zip(&node) {
            *y /= 1.0 + w * sum[v as usize];
        }
    }
    out
}

/// The largest variance of all queries: each list of intervals with one first node is gone through by adding a cell at a time.
fn largest(levels: &[Level], own: f64, cells: u32, asked: &Ranges) -> f64 {
    let mut max = 0.0f64;
    let mut at: Option<(u32, u32)> = None;
    let (mut variance, mut sums): (f64, Vec<Vec<f64>>) = (0.0, Vec::new());
    for (first, last) in asked.intervals(cells) {
        let next = match at {
            Some((same, end)) if same == first && end < last => end + 1,
            _ => {
                variance = 0.0;
                sums = levels.iter().map(|l| vec![0.0; l.c.len()]).collect();
                first
            }
        };
        for cell in (next..=last).map(|c| c as usize) {
            variance += 1.0 / own;
            for (level, sums) in levels.iter().zip(&mut sums) {
                let v = level.node[cell] as usize;
                let (before, now) = (sums[v], sums[v] + level.y[cell]);
                variance -= level.c[v] * (now * now - before * before);
                sums[v] = now;
            }
        }
        at = Some((first, last));
        max = max.max(variance);
    }
    max
}
