//! Descent by limited memory: downhill, bent by what the last steps have told of the curvature.

use std::collections::VecDeque;

const MEMORY: usize = 8;
/// The relative progress of a round, over some of them, at which the descent ends.
const PROGRESS: f64 = 1e-6;

/// The lowest point found in so many rounds; `value` tells a point's value and slopes.
pub(super) fn downhill(
    mut at: Vec<f64>,
    rounds: usize,
    value: impl Fn(&[f64]) -> (f64, Vec<f64>),
) -> Vec<f64> {
    let mut now = value(&at);
    let mut memory: VecDeque<(Vec<f64>, Vec<f64>)> = VecDeque::new();
    let mut before = f64::INFINITY;
    for round in 0..rounds {
        let direction = direction(&now.1, &memory);
        let slope = dot(&direction, &now.1);
        let Some((next, found)) = searched(&at, now.0, (&direction, slope), &value) else {
            if memory.is_empty() {
                break;
            }
            memory.clear();
            continue;
        };
        let moved: Vec<f64> = next.iter().zip(&at).map(|(a, b)| a - b).collect();
        let turned: Vec<f64> = found.1.iter().zip(&now.1).map(|(a, b)| a - b).collect();
        if dot(&moved, &turned) > 0.0 {
            memory.push_back((moved, turned));
            if memory.len() > MEMORY {
                memory.pop_front();
            }
        }
        (at, now) = (next, found);
        if round % 10 == 9 {
            if now.0 > before * (1.0 - 10.0 * PROGRESS) {
                break;
            }
            before = now.0;
        }
    }
    at
}

/// A step that lowers the value enough, halving it until one does.
fn searched(
    at: &[f64],
    now: f64,
    (direction, slope): (&[f64], f64),
    value: &impl Fn(&[f64]) -> (f64, Vec<f64>),
) -> Option<(Vec<f64>, (f64, Vec<f64>))> {
    // No part of a budget moves by more than some powers of e at once.
    let longest = direction.iter().fold(0.0f64, |m, d| m.max(d.abs()));
    let mut step = f64::min(1.0, 2.0 / longest);
    for _ in 0..30 {
        let next: Vec<f64> =
            at.iter().zip(direction).map(|(t, d)| (t + step * d).clamp(-30.0, 30.0)).collect();
        let found = value(&next);
        if found.0.is_finite() && found.0 <= now + 1e-4 * step * slope {
            return Some((next, found));
        }
        step *= 0.5;
    }
    None
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Downhill, bent by what the last steps have told of the curvature.
fn direction(slopes: &[f64], memory: &VecDeque<(Vec<f64>, Vec<f64>)>) -> Vec<f64> {
    let mut q: Vec<f64> = slopes.to_vec();
    let mut parts = Vec::with_capacity(memory.len());
    for (moved, turned) in memory.iter().rev() {
        let part = dot(moved, &q) / dot(moved, turned);
        q.iter_mut().zip(turned).for_each(|(q, t)| *q -= part * t);
        parts.push(part);
    }
    let scale = match memory.back() {
        Some((moved, turned)) => dot(moved, turned) / dot(turned, turned),
        None => 1.0 / dot(&q, &q).sqrt().max(1e-300),
    };
    q.iter_mut().for_each(|q| *q *= scale);
    for ((moved, turned), part) in memory.iter().zip(parts.iter().rev()) {
        let own = dot(turned, &q) / dot(moved, turned);
        q.iter_mut().zip(moved).for_each(|(q, m)| *q += (part - own) * m);
    }
    q.iter_mut().for_each(|q| *q = -*q);
    q
}
