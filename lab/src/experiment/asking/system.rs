//! A system that answers questions asked with an accuracy, from everything it has answered so far or from that question's own noise alone.
//!
//! A question is a linear query `q` and a half-width w: the answer must lie within ±w of the truth with the level's probability. With inference the
//! best linear estimate from all rows answered so far is given for nothing where its interval is that narrow; otherwise the query is
//! measured with the least budget that, taken together with that estimate, reaches w, and the measurement becomes a row. Without inference it is measured
//! with `α = S ln(1/δ)/w`, always. What was measured and at what price never depends on an answer, only on the questions, so the intervals hold as they are.

use margins::law::{ErrorLaw, Generator, NoiseLaw, Term};
use margins::numeric::pivoted::{Gram, Pivoted};

/// A query by its cells, ascending, and how often each counts; and the half-width that is asked for.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub query: Vec<(usize, f64)>,
    pub half_width: f64,
}

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reply {
    /// Answered from what was known.
    Free(f64),
    /// Measured.
    Paid(f64),
    /// Some cell's cost would pass the bound.
    Refused,
}

/// From what questions are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inference {
    /// Each from its own measurement.
    Without,
    /// From all answers alike, by ordinary least squares.
    Ordinary,
    /// From all answers, each by its precision.
    Best,
}

/// A measured query.
struct Row {
    query: Vec<(usize, f64)>,
    /// Budget over sensitivity: what takes its noise to a unit.
    weight: f64,
    /// Its weight in least squares, squared.
    counts: f64,
    /// What was measured, in units of its noise.
    answer: f64,
}

/// The estimate of a query from the rows.
struct Known {
    estimate: f64,
    /// How much of each row's unit noise is in it.
    coefficients: Vec<f64>,
}

pub(super) struct System {
    level: f64,
    bound: f64,
    cost: Vec<f64>,
    /// The rows; `None` without inference.
    rows: Option<Vec<Row>>,
    inference: Inference,
    gram: Gram,
    factor: Option<Pivoted>,
}

/// Where a half-width is known to be: from the variance and the fourth moment alone, to within this share. Inside it the law itself decides.
const ROUGH: f64 = 0.08;
/// How much narrower than asked a bought interval may be.
const CLOSE: f64 = 0.005;

impl System {
    pub(super) fn new(cells: usize, level: f64, bound: Option<f64>, inference: Inference) -> System {
        System {
            level,
            bound: bound.unwrap_or(f64::INFINITY),
            cost: vec![0.0; cells],
            rows: (inference != Inference::Without).then(Vec::new),
            inference,
            gram: Gram::zero(cells),
            factor: None,
        }
    }

    /// The largest cost of a cell.
    pub(super) fn cost(&self) -> f64 {
        self.cost.iter().copied().fold(0.0, f64::max)
    }

    /// Measures a query with a budget, whatever it costs; `None` past the bound.
    pub(super) fn measure(
        &mut self,
        query: &[(usize, f64)],
        budget: f64,
        truth: f64,
        noise: &mut Generator,
    ) -> Option<f64> {
        let weight = budget / sensitivity(query);
        let dearest = query.iter().map(|&(j, q)| self.cost[j] + weight * q).fold(0.0, f64::max);
        if dearest > self.bound {
            return None;
        }
        query.iter().for_each(|&(j, q)| self.cost[j] += weight * q);
        let answer = truth + noise.draw(&NoiseLaw::Laplace { scale: 1.0 / weight });
        if let Some(rows) = &mut self.rows {
            let counts = if self.inference == Inference::Best { weight * weight } else { 1.0 };
            self.gram.add_outer(query, counts);
            self.factor = None;
            rows.push(Row { query: query.to_vec(), weight, counts, answer: weight * answer });
        }
        Some(answer)
    }

    /// Answers a question about which the truth is this.
    pub(super) fn ask(&mut self, question: &Question, truth: f64, noise: &mut Generator) -> Reply {
        let (query, width) = (&question.query, question.half_width);
        let alone = sensitivity(query) * libm::log(1.0 / (1.0 - self.level)) / width;
        let known = self.known(query);
        let Some(known) = known else {
            return self.measure(query, alone, truth, noise).map_or(Reply::Refused, Reply::Paid);
        };
        if self.is_within(&known.coefficients, width) {
            return Reply::Free(known.estimate);
        }
        let variance = variance(&known.coefficients);
        let budget = self.least_budget(&known.coefficients, sensitivity(query), width).min(alone);
        match self.measure(query, budget, truth, noise) {
            None => Reply::Refused,
            Some(answer) => {
                let fresh = 2.0 * (sensitivity(query) / budget).powi(2);
                let share = if budget < alone { variance / (variance + fresh) } else { 1.0 };
                Reply::Paid((1.0 - share) * known.estimate + share * answer)
            }
        }
    }

    /// The estimate from the rows by least squares, of unit noises; `None` where they do not determine the query.
    fn known(&mut self, query: &[(usize, f64)]) -> Option<Known> {
        let rows = self.rows.as_ref()?;
        let factor = self.factor.get_or_insert_with(|| Pivoted::new(self.gram.clone()));
        let mut q = vec![0.0; self.cost.len()];
        query.iter().for_each(|&(j, v)| q[j] = v);
        let v = factor.solve(&q);
        let image = |r: &Row| r.counts / r.weight * r.query.iter().map(|&(j, h)| h * v[j]).sum::<f64>();
        let coefficients: Vec<f64> = rows.iter().map(image).collect();
        // In the row space if the rows, so weighted, give the query back.
        for (r, c) in rows.iter().zip(&coefficients) {
            r.query.iter().for_each(|&(j, h)| q[j] -= c * r.weight * h);
        }
        let estimate = rows.iter().zip(&coefficients).map(|(r, c)| c * r.answer).sum();
        q.iter().all(|rest| rest.abs() < 1e-6).then_some(Known { estimate, coefficients })
    }

    /// Whether the interval reaches no further than ±width.
    fn is_within(&self, coefficients: &[f64], width: f64) -> bool {
        let rough = self.rough(coefficients, 0.0);
        if (rough / width - 1.0).abs() > ROUGH {
            rough < width
        } else {
            self.exact(coefficients, 0.0) <= width
        }
    }

    /// The least budget with which a new measurement, weighted with what is known by precision, reaches ±width: to within
    /// [`CLOSE`], on the side of more.
    fn least_budget(&self, coefficients: &[f64], sensitivity: f64, width: f64) -> f64 {
        let known = variance(coefficients);
        // Known with weight 1 − share, and the fresh noise's own coefficient.
        let together = |budget: f64| {
            let scale = sensitivity / budget;
            let share = known / (known + 2.0 * scale * scale);
            let old: Vec<f64> = coefficients.iter().map(|c| c * (1.0 - share)).collect();
            (old, share * scale)
        };
        let alone = sensitivity * libm::log(1.0 / (1.0 - self.level)) / width;
        let roughly = |goal: f64| {
            let (mut low, mut high) = (0.0, 4.0 * alone);
            for _ in 0..40 {
                let middle = 0.5 * (low + high);
                let (old, fresh) = together(middle);
                if self.rough(&old, fresh) <= goal { high = middle } else { low = middle }
            }
            high
        };
        // The rough half-width is off by a share that hardly changes: aim where the exact one is right.
        let mut goal = width;
        let mut least = alone;
        for _ in 0..6 {
            let budget = roughly(goal);
            let (old, fresh) = together(budget);
            let reached = self.exact(&old, fresh);
            if reached <= width {
                least = least.min(budget);
            }
            if reached <= width && reached > width * (1.0 - CLOSE) {
                break;
            }
            goal *= width * (1.0 - 0.3 * CLOSE) / reached;
        }
        least
    }

    /// The half-width from the second and fourth moments: between a single Laplace noise's and the normal law's.
    fn rough(&self, coefficients: &[f64], fresh: f64) -> f64 {
        let squares = coefficients.iter().map(|c| c * c).sum::<f64>() + fresh * fresh;
        let fourths = coefficients.iter().map(|c| c * c * c * c).sum::<f64>() + fresh.powi(4);
        let deviation = libm::sqrt(2.0 * squares);
        // 1 for a single noise, 0 for very many.
        let single = fourths / (squares * squares);
        let laplace = libm::log(1.0 / (1.0 - self.level)) / std::f64::consts::SQRT_2;
        let normal = margins::law::normal_upper_quantile(0.5 * (1.0 - self.level));
        deviation * (single * laplace + (1.0 - single) * normal)
    }

    /// The half-width from the exact law.
    fn exact(&self, coefficients: &[f64], fresh: f64) -> f64 {
        let noise = NoiseLaw::Laplace { scale: 1.0 };
        let all = coefficients.iter().copied().chain([fresh]);
        let least = 1e-12 * coefficients.iter().fold(fresh, |most, c| most.max(c.abs()));
        let terms = all.filter(|c| c.abs() > least);
        let terms = terms.map(|coefficient| Term { coefficient, copies: 1, noise }).collect();
        ErrorLaw::new(terms).map_or(f64::INFINITY, |law| law.half_width(self.level))
    }
}

fn variance(coefficients: &[f64]) -> f64 {
    2.0 * coefficients.iter().map(|c| c * c).sum::<f64>()
}

fn sensitivity(query: &[(usize, f64)]) -> f64 {
    query.iter().map(|q| q.1).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use margins::history::{History, Spending};

    /// The same budgets and estimates as the library's own inference.
    #[test]
    fn as_the_history_says() {
        let mut noise = Generator::new(4);
        let mut system = System::new(4, 0.8, None, Inference::Best);
        let asked: [(&[(usize, f64)], f64); 5] = [
            (&[(0, 1.0), (1, 2.0)], 30.0),
            (&[(1, 1.0), (2, 1.0)], 12.0),
            (&[(0, 2.0), (1, 4.0)], 40.0),
            (&[(0, 1.0), (1, 3.0), (2, 1.0)], 20.0),
            (&[(0, 1.0), (1, 2.0)], 200.0),
        ];
        let (mut rows, mut answers, mut budgets) = (Vec::new(), Vec::new(), Vec::new());
        for (query, half_width) in asked {
            let dense: Vec<f64> =
                (0..4).map(|j| query.iter().find(|q| q.0 == j).map_or(0.0, |q| q.1)).collect();
            let before = system.cost.clone();
            let reply = system.ask(&Question { query: query.to_vec(), half_width }, 50.0, &mut noise);
            let history = |rows: &Vec<Vec<f64>>, answers: &Vec<f64>, budgets: &Vec<f64>| {
                History::new(rows.clone(), answers.clone(), budgets.clone(), None)
            };
            let expected = history(&rows, &answers, &budgets).ok().map(|h| {
                let inferred = h.infer().unwrap();
                h.spending(&inferred, &dense, half_width, 0.8, None).unwrap()
            });
            let own = system.rows.as_ref().unwrap();
            match (reply, expected) {
                (Reply::Free(_), Some(Spending::Nothing { .. })) => {}
                (Reply::Paid(_), expected) => {
                    let row = own.last().unwrap();
                    let spent = row.weight * sensitivity(query);
                    if let Some(Spending::Ask { budget, .. }) = expected {
                        assert!(spent >= budget * (1.0 - 1e-6) && spent < budget * 1.02, "{spent} {budget}");
                    }
                    assert!(system.cost.iter().zip(&before).any(|(now, then)| now > then));
                    rows.push(dense.clone());
                    answers.push(row.answer / row.weight);
                    budgets.push(spent);
                }
                (reply, expected) => panic!("{reply:?} {expected:?}"),
            }
            let estimate =
                history(&rows, &answers, &budgets).unwrap().infer().unwrap().query(&dense).unwrap();
            let (Reply::Free(got) | Reply::Paid(got)) = reply else { panic!("refused") };
            assert!((got - estimate.estimate).abs() < 1e-6, "{got} {}", estimate.estimate);
            assert!(estimate.law.half_width(0.8) <= half_width * (1.0 + 1e-9));
        }
        assert_eq!(rows.len(), 4, "the last was free");
    }

    #[test]
    fn a_bound_is_kept() {
        let mut noise = Generator::new(5);
        for inference in [Inference::Best, Inference::Ordinary, Inference::Without] {
            let mut system = System::new(1, 0.8, Some(1.0), inference);
            let question = |half_width| Question { query: vec![(0, 1.0)], half_width };
            assert_eq!(system.ask(&question(1.0), 5.0, &mut noise), Reply::Refused);
            assert!(matches!(system.ask(&question(2.0), 5.0, &mut noise), Reply::Paid(_)));
            let again = system.ask(&question(2.0), 5.0, &mut noise);
            assert_eq!(matches!(again, Reply::Free(_)), inference != Inference::Without);
            assert!(system.cost() <= 1.0);
        }
    }
}
