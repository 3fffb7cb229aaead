//! The published setting: who asks what, and what comes of it.

use super::system::{Inference, Question, Reply, System};
use margins::law::Generator;

/// The cells that are asked about.
pub(super) const CELLS: usize = 100;
/// The level of every interval.
pub(super) const LEVEL: f64 = 0.8;
/// What the first setting's tree costs.
pub(super) const TREE: f64 = 0.3;

/// The two published settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    /// No bound; a binary tree of counts is measured first, at ε = 0.3. The whole widths of intervals are uniform from 50 to 1000.
    Unbounded,
    /// Nothing is measured first, and no cell may cost more than 1. Whole widths are uniform from 1 to 1000.
    Bounded,
}

impl Setting {
    pub(super) const ALL: [Setting; 2] = [Setting::Unbounded, Setting::Bounded];

    pub(super) fn bound(self) -> Option<f64> {
        (self == Setting::Bounded).then_some(1.0)
    }

    fn least_width(self) -> f64 {
        if self == Setting::Bounded { 1.0 } else { 50.0 }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Setting::Unbounded => "unbounded",
            Setting::Bounded => "bounded",
        }
    }
}

/// What one run comes to.
#[derive(Debug, Clone)]
pub(super) struct Run {
    /// The largest cost of a cell after each question.
    pub cost: Vec<f64>,
    /// How many were answered up to and with each question.
    pub answered: Vec<u32>,
    /// How many for nothing.
    pub free: u32,
    /// How many answers lay within the half-width that was asked for.
    pub within: u32,
    /// The sum of |error|/2w over the answers up to and with each question, w being the half-width that was asked for: the error of
    /// Definition 6.3.
    pub errors: Vec<f64>,
}

impl Run {
    /// How many were answered in all.
    pub(super) fn answers(&self) -> u32 {
        self.answered.last().copied().unwrap_or(0)
    }

    /// What was spent in all.
    pub(super) fn spent(&self) -> f64 {
        self.cost.last().copied().unwrap_or(0.0)
    }

    /// The mean error of the answers to the first so many questions.
    pub(super) fn error(&self, questions: usize) -> f64 {
        let at = questions.min(self.errors.len());
        if at == 0 { 0.0 } else { self.errors[at - 1] / f64::from(self.answered[at - 1].max(1)) }
    }

    /// How many had been answered when the cost first passed so much.
    pub(super) fn answered_for(&self, cost: f64) -> u32 {
        let at = self.cost.partition_point(|c| *c <= cost);
        if at == 0 { 0 } else { self.answered[at - 1] }
    }
}

/// Cell j of 100 is asked for with probability 0.9·10^{−⌊j/10⌋}, divided by their sum; from 0.
fn probabilities() -> Vec<f64> {
    let each = |j: usize| 0.9 * 10f64.powi(-((j / 10) as i32));
    let all: f64 = (0..CELLS).map(each).sum();
    (0..CELLS).map(|j| each(j) / all).collect()
}

/// One question: 1 to 10 trials, each a cell.
fn question(shares: &[f64], setting: Setting, random: &mut Generator) -> Question {
    let trials = 1 + (10.0 * random.uniform()) as usize;
    let mut query: Vec<(usize, f64)> = Vec::new();
    for _ in 0..trials {
        let mut left = random.uniform();
        let cell = shares.iter().position(|p| {
            left -= p;
            left < 0.0
        });
        let cell = cell.unwrap_or(CELLS - 1);
        match query.iter_mut().find(|q| q.0 == cell) {
            Some(q) => q.1 += 1.0,
            None => query.push((cell, 1.0)),
        }
    }
    query.sort_unstable_by_key(|q| q.0);
    let least = setting.least_width();
    Question { query, half_width: 0.5 * (least + (1000.0 - least) * random.uniform()) }
}

/// The nodes of a binary tree over the cells.
fn tree(from: usize, to: usize, out: &mut Vec<(usize, usize)>) {
    out.push((from, to));
    if to - from > 1 {
        let middle = from + (to - from) / 2;
        tree(from, middle, out);
        tree(middle, to, out);
    }
}

/// How many nodes of the tree a cell is in at most.
fn depth(cells: usize) -> u32 {
    cells.next_power_of_two().ilog2() + 1
}

/// The counts, made up, whole from 1 to 1000; and so many questions.
pub(super) fn asked(setting: Setting, questions: usize, seed: u64) -> (Vec<f64>, Vec<Question>) {
    let mut random = Generator::new(seed);
    let counts: Vec<f64> = (0..CELLS).map(|_| libm::floor(1.0 + 1000.0 * random.uniform())).collect();
    let shares = probabilities();
    let asked = (0..questions).map(|_| question(&shares, setting, &mut random)).collect();
    (counts, asked)
}

/// One run of so many questions. Questions and counts are the same with inference and without.
pub(super) fn run(setting: Setting, inference: Inference, questions: usize, seed: u64) -> Run {
    let mut noise = Generator::new(seed ^ (1 << 63));
    let (counts, asked) = asked(setting, questions, seed);
    let mut system = System::new(CELLS, LEVEL, setting.bound(), inference);
    if setting == Setting::Unbounded && inference != Inference::Without {
        let mut nodes = Vec::new();
        tree(0, CELLS, &mut nodes);
        let budget = TREE / f64::from(depth(CELLS));
        for (from, to) in nodes {
            let query: Vec<(usize, f64)> = (from..to).map(|j| (j, 1.0)).collect();
            let truth = counts[from..to].iter().sum();
            system.measure(&query, budget, truth, &mut noise);
        }
    }
    let (mut out, mut errors) = (empty(questions), 0.0);
    let mut answered = 0;
    for question in asked {
        let truth: f64 = question.query.iter().map(|&(j, q)| q * counts[j]).sum();
        let reply = system.ask(&question, truth, &mut noise);
        if let Reply::Free(estimate) | Reply::Paid(estimate) = reply {
            let error = (estimate - truth).abs();
            answered += 1;
            out.free += u32::from(matches!(reply, Reply::Free(_)));
            out.within += u32::from(error <= question.half_width);
            errors += error / (2.0 * question.half_width);
        }
        out.answered.push(answered);
        out.cost.push(system.cost());
        out.errors.push(errors);
    }
    out
}

/// Of a run that has not begun.
pub(super) fn empty(questions: usize) -> Run {
    Run {
        cost: Vec::with_capacity(questions),
        answered: Vec::with_capacity(questions),
        free: 0,
        within: 0,
        errors: Vec::with_capacity(questions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_the_published_one() {
        let shares = probabilities();
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((shares[0] / shares[10] - 10.0).abs() < 1e-9 && (shares[9] / shares[99] - 1e9).abs() < 1.0);
        let mut random = Generator::new(3);
        let mut trials = [0u32; 10];
        for _ in 0..5000 {
            let q = question(&shares, Setting::Bounded, &mut random);
            let all: f64 = q.query.iter().map(|q| q.1).sum();
            trials[all as usize - 1] += 1;
            assert!((0.5..=500.0).contains(&q.half_width) && q.query.windows(2).all(|w| w[0].0 < w[1].0));
        }
        assert!(trials.iter().all(|t| (400..600).contains(t)), "{trials:?}");
        let mut nodes = Vec::new();
        tree(0, CELLS, &mut nodes);
        assert_eq!(nodes.len(), 2 * CELLS - 1);
        let over = |cell: usize| nodes.iter().filter(|n| (n.0..n.1).contains(&cell)).count();
        assert_eq!((0..CELLS).map(over).max(), Some(depth(CELLS) as usize));
    }

    /// Reliability with a stated power: of some 200 answers a share below 0.8 − 4 standard deviations has probability 3e-5.
    #[test]
    fn answers_are_as_reliable_as_asked() {
        for setting in Setting::ALL {
            let runs: Vec<Run> = (0..2).map(|seed| run(setting, Inference::Best, 120, seed)).collect();
            let (within, answers) = runs.iter().fold((0, 0), |s, r| (s.0 + r.within, s.1 + r.answers()));
            let least = 0.8 * f64::from(answers) - 4.0 * (0.16 * f64::from(answers)).sqrt();
            assert!(f64::from(within) >= least, "{setting:?}: {within} of {answers}");
            assert!(runs.iter().all(|r| r.cost.is_sorted()));
            if let Some(bound) = setting.bound() {
                assert!(runs.iter().all(|r| r.spent() <= bound));
            }
        }
    }
}
