//! The posterior of a query given **all** answers of a history, not only its linear estimate.
//!
//! With a flat prior of the cells the posterior of everything that the rows see is `∝ exp(−Σ_i |y_i − H_i x| α_i/S_i)`. In the coordinates of the
//! factorisation `√W·H = Q R` that is `exp(−‖√W y − Q u‖₁)`, Q with orthonormal columns, and a query is `θ = tᵀu`. It is not the law of the linear
//! estimate's error around the estimate: of two noises of which only the sum enters the estimate, the answers also say which was large.
//!
//! **Sampler.** Q is turned so that its first column is the direction in which θ changes. Each coordinate in turn is drawn from its law given the
//! others, whose logarithm is concave and made of straight pieces that break where an answer is met exactly: it is summed up and inverted exactly
//! (Gibbs; no step is ever rejected). The moments of θ are not taken from draws but from these laws given the others (Rao–Blackwell).
//!
//! **Error.** [`CHAINS`] chains are started apart and run independently; every figure's standard error is that of the mean of the chains' own figures.

use super::{Factors, HistoryError, Inferred, length};
use crate::law::{Generator, NoiseLaw};
use crate::numeric::cholesky::dot;

/// What a posterior says of a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Posterior {
    /// Its mean.
    pub mean: Simulated,
    /// Its standard deviation.
    pub sd: Simulated,
    /// The lower end of the equal-tailed interval.
    pub low: Simulated,
    /// The upper end.
    pub high: Simulated,
    /// `Pr(θ > 0)`.
    pub prob_positive: Simulated,
    /// How many draws there were, in all chains.
    pub draws: u64,
}

/// A simulated number and the standard error of the simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Simulated {
    /// The number.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

/// Independent chains.
pub(crate) const CHAINS: usize = 16;
/// The most rows times independent cells.
pub(crate) const MOST_ENTRIES: usize = 1 << 20;
/// What is simulated unless so many draws are asked for, in breaks of pieces, and the most draws it may come to.
const WORK: u64 = 60_000_000;
const MOST_DRAWS: u64 = 1 << 20;
/// The least draws of a chain.
const LEAST: u64 = 200;
/// The share of a chain that only takes it to where the others are.
const WARM_UP: u64 = 10;

impl Inferred {
    /// The posterior of a query given all answers, with an interval at `level`, from about so many draws. The same seed gives the same figures.
    pub fn posterior(
        &self,
        query: &[f64],
        level: f64,
        draws: Option<u64>,
        seed: u64,
    ) -> Result<Posterior, HistoryError> {
        length("query", query.len(), self.cells)?;
        let Factors::Dense(dense) = &self.factors else {
            return Err(HistoryError::Number(
                "a posterior is simulated from a dense factorisation only".into(),
            ));
        };
        let rank = dense.qr.rank();
        let entries = rank.saturating_mul(dense.weighted.len());
        if entries > MOST_ENTRIES {
            return Err(HistoryError::Number(format!(
                "{} rows over {rank} independent cells are too many to simulate a posterior from: at most 2^20 in all",
                dense.weighted.len()
            )));
        }
        if !(level > 0.0 && level < 1.0) {
            return Err(HistoryError::Number("a level must be between 0 and 1".into()));
        }
        let t = dense.direction(query)?;
        let affordable = (WORK / entries.max(1) as u64).min(MOST_DRAWS);
        let each = draws.unwrap_or(affordable).div_ceil(CHAINS as u64).max(LEAST);
        let size = dot(&t, &t).sqrt();
        if size == 0.0 {
            // The query of no cell.
            let certain = |value| Simulated { value, error: 0.0 };
            let [mean, sd, low, high, prob_positive] = [certain(0.0); 5];
            return Ok(Posterior { mean, sd, low, high, prob_positive, draws: 0 });
        }
        let columns = turned(&t, size).into_iter().map(|u| dense.qr.spread(u)).collect();
        let space = Space { columns, answers: &dense.weighted };
        let start: Vec<f64> = space.columns.iter().map(|g| dot(g, &dense.weighted)).collect();
        let chains: Vec<Chain> = (0..CHAINS as u64)
            .map(|k| space.chain(&start, each, &mut Generator::new(seed.wrapping_mul(CHAINS as u64) + k)))
            .collect();
        Ok(summed(&chains, size, level))
    }
}

/// An orthonormal basis whose first vector is `t/size`: the columns of the reflection that takes the first unit vector there.
fn turned(t: &[f64], size: f64) -> Vec<Vec<f64>> {
    let mut v: Vec<f64> = t.iter().map(|t| t / size).collect();
    // Of the two reflections the one that does not cancel; the sign of the first column is put right below.
    let sign = if v[0] > 0.0 { -1.0 } else { 1.0 };
    v[0] -= sign;
    let scale = 2.0 / dot(&v, &v);
    let column = |k: usize| {
        let sign = if k == 0 { sign } else { 1.0 };
        let mut out: Vec<f64> = v.iter().map(|x| -sign * scale * v[k] * x).collect();
        out[k] += sign;
        out
    };
    (0..t.len()).map(column).collect()
}

/// `exp(−‖y − Σ_k u_k g_k‖₁)`.
struct Space<'a> {
    columns: Vec<Vec<f64>>,
    answers: &'a [f64],
}

/// What one chain has seen of the first coordinate.
struct Chain {
    mean: f64,
    square: f64,
    positive: f64,
    draws: Vec<f64>,
}

impl Space<'_> {
    fn chain(&self, start: &[f64], draws: u64, generator: &mut Generator) -> Chain {
        // Apart from each other: twice as far off as the noises are.
        let away = NoiseLaw::Laplace { scale: 2.0 };
        let mut u: Vec<f64> = start.iter().map(|u| u + generator.draw(&away)).collect();
        let mut rest = self.answers.to_vec();
        for (u, column) in u.iter().zip(&self.columns) {
            rest.iter_mut().zip(column).for_each(|(r, g)| *r -= u * g);
        }
        let mut line = Line::default();
        let mut chain =
            Chain { mean: 0.0, square: 0.0, positive: 0.0, draws: Vec::with_capacity(draws as usize) };
        let warm = draws / WARM_UP;
        for sweep in 0..draws + warm {
            for k in (0..u.len()).rev() {
                let column = &self.columns[k];
                line.set(&rest, column);
                if k == 0 && sweep >= warm {
                    let (mean, square, positive) = line.moments(u[0]);
                    chain.mean += mean;
                    chain.square += square;
                    chain.positive += positive;
                }
                let step = line.draw(generator);
                u[k] += step;
                rest.iter_mut().zip(column).for_each(|(r, g)| *r -= step * g);
            }
            if sweep >= warm {
                chain.draws.push(u[0]);
            }
        }
        let n = draws as f64;
        Chain { mean: chain.mean / n, square: chain.square / n, positive: chain.positive / n, ..chain }
    }
}

/// A law on a line, `exp(−Σ_i |r_i − s g_i|)`: pieces between the places where a term is 0.
#[derive(Default)]
struct Line {
    /// Where the pieces meet, ascending, and how much the slope falls there.
    breaks: Vec<(f64, f64)>,
    /// The logarithm of the density at each break, the largest being 0.
    heights: Vec<f64>,
    /// The slope to the left of each break, and to the right of the last.
    slopes: Vec<f64>,
    /// The mass up to each break, and in all.
    below: Vec<f64>,
}

/// A slope times a length below which a piece is flat: then its mass is known to a relative 1e-13 from its middle.
const FLAT: f64 = 1e-6;

/// The mass of a piece of this length under `exp(height − slope·s)`, s from 0; reckoned from its higher end, so that nothing overflows.
fn mass(height: f64, slope: f64, length: f64) -> f64 {
    let fall = (slope * length).abs();
    let top = if slope < 0.0 { height + fall } else { height };
    let area = if fall < FLAT { 1.0 - fall / 2.0 } else { -libm::expm1(-fall) / fall };
    libm::exp(top) * length * area
}

impl Line {
    fn set(&mut self, rest: &[f64], column: &[f64]) {
        self.breaks.clear();
        // A term that hardly changes along the line breaks far outside of it.
        let terms = rest.iter().zip(column).filter(|(_, g)| g.abs() > 1e-13);
        self.breaks.extend(terms.map(|(r, g)| (r / g, 2.0 * g.abs())));
        self.breaks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        self.heights.clear();
        self.slopes.clear();
        let (mut slope, mut height) = (self.breaks.iter().map(|b| b.1).sum::<f64>() / 2.0, 0.0f64);
        let (mut at, mut highest) = (self.breaks.first().map_or(0.0, |b| b.0), 0.0f64);
        for &(place, falls) in &self.breaks {
            height += slope * (place - at);
            at = place;
            highest = highest.max(height);
            self.heights.push(height);
            self.slopes.push(slope);
            slope -= falls;
        }
        self.slopes.push(slope);
        self.heights.iter_mut().for_each(|h| *h -= highest);
        self.below.clear();
        let mut sum = 0.0;
        for i in 0..self.heights.len() {
            sum += match i {
                0 => libm::exp(self.heights[0]) / self.slopes[0],
                // From its right end leftwards the density falls by the slope.
                _ => mass(self.heights[i], self.slopes[i], self.breaks[i].0 - self.breaks[i - 1].0),
            };
            self.below.push(sum);
        }
        sum += self.heights.last().map_or(0.0, |h| libm::exp(*h)) / -slope;
        self.below.push(sum);
    }

    /// One draw.
    fn draw(&self, generator: &mut Generator) -> f64 {
        let Some(&all) = self.below.last() else { return 0.0 };
        let at = generator.uniform() * all;
        let piece = self.below.partition_point(|b| *b < at).min(self.breaks.len());
        let before = if piece == 0 { 0.0 } else { self.below[piece - 1] };
        let share = ((at - before) / (self.below[piece] - before)).clamp(0.0, 1.0);
        let slope = self.slopes[piece];
        match piece {
            0 => self.breaks[0].0 + libm::log(share.max(f64::MIN_POSITIVE)) / slope,
            last if last == self.breaks.len() => {
                self.breaks[last - 1].0 + libm::log((1.0 - share).max(f64::MIN_POSITIVE)) / slope
            }
            _ => {
                let (left, right) = (self.breaks[piece - 1].0, self.breaks[piece].0);
                let length = right - left;
                let rise = slope * length;
                let part = match rise {
                    _ if rise.abs() < FLAT => share,
                    _ if rise > 0.0 => 1.0 + libm::log(share + (1.0 - share) * libm::exp(-rise)) / rise,
                    _ => libm::log1p(share * libm::expm1(rise)) / rise,
                };
                left + part.clamp(0.0, 1.0) * length
            }
        }
    }

    /// The mean, the mean square and the probability of more than 0, of `from + s`.
    fn moments(&self, from: f64) -> (f64, f64, f64) {
        let (Some(&all), Some(first), Some(last)) =
            (self.below.last(), self.breaks.first(), self.breaks.last())
        else {
            return (from, from * from, f64::from(from > 0.0));
        };
        let (mut mean, mut square, mut positive) = (0.0, 0.0, 0.0);
        // An exponential tail: its end, which way it goes and how fast it falls.
        let mut tail = |end: f64, sign: f64, rate: f64, mass: f64| {
            let (end, step) = (from + end, sign / rate);
            mean += mass * (end + step);
            square += mass * (end * end + 2.0 * end * step + 2.0 * step * step);
            let crossed = libm::exp(-rate * end.abs());
            positive += mass
                * match (end > 0.0, sign > 0.0) {
                    (true, true) => 1.0,
                    (false, false) => 0.0,
                    (false, true) => crossed,
                    (true, false) => 1.0 - crossed,
                };
        };
        tail(first.0, -1.0, self.slopes[0], self.below[0]);
        let n = self.breaks.len();
        tail(last.0, 1.0, -self.slopes[n], all - self.below[n - 1]);
        for i in 1..n {
            let (left, right) = (from + self.breaks[i - 1].0, from + self.breaks[i].0);
            let own = self.below[i] - self.below[i - 1];
            if own <= 0.0 {
                continue;
            }
            let (length, slope) = (right - left, self.slopes[i]);
            let (first, second) = piece_moments(slope * length);
            mean += own * (left + length * first);
            square += own * (left * left + 2.0 * left * length * first + length * length * second);
            positive += match (left >= 0.0, right <= 0.0) {
                (true, _) => own,
                (_, true) => 0.0,
                _ => mass(self.heights[i], slope, right).min(own),
            };
        }
        (mean / all, square / all, positive / all)
    }
}

/// The mean and mean square of the law `∝ e^{c·s}` on 0 ≤ s ≤ 1.
fn piece_moments(c: f64) -> (f64, f64) {
    if c.abs() < 0.05 {
        // Series: E s = 1/2 + c/12 − c³/720, E s² = 1/3 + c/12 + c²/360 − c³/720 …
        let c2 = c * c;
        let mean = 0.5 + c / 12.0 - c2 * c / 720.0;
        return (mean, 1.0 / 3.0 + c / 12.0 + c2 / 360.0 - c2 * c / 720.0);
    }
    // ∫ e^{cs} = (e^c − 1)/c; by parts for the others, from the end that is larger.
    let e = libm::exp(-c.abs());
    let whole = -libm::expm1(-c.abs()) / c.abs();
    let a = c.abs();
    // Of e^{−a s}, from 0.
    let one = (whole - e) / a;
    let two = (2.0 * one - e) / a;
    let (one, two) = (one / whole, two / whole);
    if c < 0.0 { (one, two) } else { (1.0 - one, 1.0 - 2.0 * one + two) }
}

/// The chains' figures together, θ being `size` times the first coordinate.
fn summed(chains: &[Chain], size: f64, level: f64) -> Posterior {
    let figure = |own: &dyn Fn(&Chain) -> f64, pooled: Option<f64>| {
        let each: Vec<f64> = chains.iter().map(own).collect();
        let n = each.len() as f64;
        let mean = each.iter().sum::<f64>() / n;
        let spread = each.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        Simulated { value: pooled.unwrap_or(mean), error: (spread / (n * (n - 1.0))).sqrt() }
    };
    let mean = figure(&|c| size * c.mean, None);
    let square = chains.iter().map(|c| c.square).sum::<f64>() / chains.len() as f64;
    let centre = mean.value / size;
    let variance =
        |square: f64, mean: f64| size * (square - 2.0 * centre * mean + centre * centre).max(0.0).sqrt();
    let sd = figure(&|c| variance(c.square, c.mean), Some(variance(square, centre)));
    let sorted = |mut draws: Vec<f64>| {
        draws.sort_unstable_by(f64::total_cmp);
        draws
    };
    let own: Vec<Vec<f64>> = chains.iter().map(|c| sorted(c.draws.clone())).collect();
    let all = sorted(own.concat());
    let quantile = |sorted: &[f64], p: f64| {
        let at = (p * sorted.len() as f64) as usize;
        sorted.get(at.min(sorted.len().saturating_sub(1))).map_or(f64::NAN, |x| size * x)
    };
    let end = |p: f64| {
        let each: Vec<f64> = own.iter().map(|o| quantile(o, p)).collect();
        let n = each.len() as f64;
        let mean = each.iter().sum::<f64>() / n;
        let spread = each.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        Simulated { value: quantile(&all, p), error: (spread / (n * (n - 1.0))).sqrt() }
    };
    Posterior {
        mean,
        sd,
        low: end((1.0 - level) / 2.0),
        high: end((1.0 + level) / 2.0),
        prob_positive: figure(&|c| c.positive, None),
        draws: all.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{History, Solver};
    use super::*;

    fn near(a: Simulated, b: f64) {
        assert!((a.value - b).abs() < 5.0 * a.error + 1e-9, "{a:?} {b}");
    }

    /// One answer: Laplace, closed form. Two of the same cell: by numerical integration of the product.
    #[test]
    fn as_integrals_say() {
        let one = History::new(vec![vec![1.0, 0.0]], vec![5.0], vec![0.1], None).unwrap();
        let p = one.infer().unwrap().posterior(&[2.0, 0.0], 0.9, Some(40_000), 1).unwrap();
        near(p.mean, 10.0);
        near(p.sd, 20.0 * 2f64.sqrt());
        near(p.prob_positive, 1.0 - 0.5 * (-0.5f64).exp());
        near(p.low, 10.0 - 20.0 * 10f64.ln());
        near(p.high, 10.0 + 20.0 * 10f64.ln());
        let (y, w) = ([10.0, 14.0, 30.0], [0.2, 0.3, 0.1]);
        let several = History::new(vec![vec![1.0]; 3], y.to_vec(), w.to_vec(), None).unwrap();
        let p = several.infer().unwrap().posterior(&[1.0], 0.95, Some(40_000), 2).unwrap();
        let (mut mass, mut mean, mut square) = (0.0, 0.0, 0.0);
        for i in -400_000..400_000 {
            let x = f64::from(i) * 1e-3;
            let f = (-(0..3).map(|k| w[k] * (x - y[k]).abs()).sum::<f64>()).exp();
            (mass, mean, square) = (mass + f, mean + x * f, square + x * x * f);
        }
        // A single coordinate: its law is the posterior, and the moments are exact.
        assert!((p.mean.value - mean / mass).abs() < 1e-6 && p.mean.error < 1e-9);
        assert!((p.sd.value - (square / mass - (mean / mass).powi(2)).sqrt()).abs() < 1e-6);
    }

    /// Two cells, three answers: by integration over the plane. Seen and unseen queries.
    #[test]
    fn as_a_plane_of_points_says() {
        let rows = vec![vec![1.0, 1.0, 0.0], vec![1.0, 0.0, 0.0], vec![0.0, 2.0, 0.0], vec![1.0, -1.0, 0.0]];
        let (y, b) = ([30.0, 4.0, 20.0, 1.0], [0.3, 0.2, 0.5, 0.1]);
        let history = History::new(rows.clone(), y.to_vec(), b.to_vec(), None).unwrap();
        let q = [2.0, 1.0, 0.0];
        let p = history.infer_by(Solver::Dense).unwrap().posterior(&q, 0.9, Some(200_000), 3).unwrap();
        let (mut mass, mut mean, mut square, mut below) = (0.0, 0.0, 0.0, 0.0);
        for i in -600..900 {
            for j in -600..900 {
                let (a, c) = (f64::from(i) * 0.1 + 0.03, f64::from(j) * 0.1 + 0.07);
                let scale = [1.0, 1.0, 2.0, 1.0];
                let far: f64 =
                    (0..4).map(|k| b[k] / scale[k] * (y[k] - rows[k][0] * a - rows[k][1] * c).abs()).sum();
                let (f, t) = ((-far).exp(), q[0] * a + q[1] * c);
                (mass, mean, square) = (mass + f, mean + t * f, square + t * t * f);
                below += if t <= p.low.value { f } else { 0.0 };
            }
        }
        assert!(
            (p.mean.value - mean / mass).abs() < 5.0 * p.mean.error + 0.01,
            "{:?} {}",
            p.mean,
            mean / mass
        );
        let sd = (square / mass - (mean / mass).powi(2)).sqrt();
        assert!((p.sd.value - sd).abs() < 5.0 * p.sd.error + 0.01, "{:?} {sd}", p.sd);
        assert!((below / mass - 0.05).abs() < 0.003, "{}", below / mass);
        let unseen = history.infer().unwrap().posterior(&[0.0, 0.0, 1.0], 0.9, None, 3);
        assert_eq!(unseen.unwrap_err(), HistoryError::NotEstimable);
        let nothing = history.infer().unwrap().posterior(&[0.0; 3], 0.9, None, 3).unwrap();
        assert_eq!((nothing.mean.value, nothing.sd.value), (0.0, 0.0));
    }

    #[test]
    fn moments_of_a_piece() {
        for c in [-300.0, -5.0, -0.0501, -0.049, -1e-9, 0.0, 1e-3, 0.049, 0.0501, 2.0, 300.0] {
            let (mut mass, mut mean, mut square) = (0.0, 0.0, 0.0);
            let n = 400_000;
            for i in 0..n {
                let s = (f64::from(i) + 0.5) / f64::from(n);
                let f = (c * (s - if c > 0.0 { 1.0 } else { 0.0 })).exp();
                (mass, mean, square) = (mass + f, mean + s * f, square + s * s * f);
            }
            let (one, two) = piece_moments(c);
            assert!((one - mean / mass).abs() < 1e-7 && (two - square / mass).abs() < 1e-7, "{c}");
        }
    }
}
