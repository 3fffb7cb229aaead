//! The plan itself, as it is stored in a release: who is protected, what is measured, at which scale.

use super::channel::NO_ROWS;
use super::{BudgetRule, Channel, Copy, Measure, Measurement, Neighbours, Noise, Subject, Table};
use crate::cube::{Cuboid, Level, Quantity};
use crate::exact::Rational;
use std::ops::Range;
use std::sync::Arc;

/// Everything that decides a release but the data and the noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The kind of noise.
    pub noise: Noise,
    /// The budget in the noise's own currency: ρ for Gaussian, ε for Laplace.
    pub budget: Rational,
    /// The neighbour relation.
    pub neighbours: Neighbours,
    /// How many rows one unit may own.
    pub max_rows: u32,
    /// The strategy that was chosen.
    pub measure: Measure,
    /// The budget rule that was chosen.
    pub budgets: BudgetRule,
    /// For each dimension the levels in use, ascending, starting with 0 (total). Components are
    /// differences between consecutive levels in use.
    pub levels: Vec<Vec<u8>>,
    /// What is asked and measured of each subject: of rows first.
    pub channels: Vec<Channel>,
    /// The tables of the rows' workload that are published without noise. No component below them is measured.
    pub exact: Vec<Cuboid>,
    /// Conditions whose cells are empty whatever the data: see [`crate::recover::zeros`].
    pub zeros: Vec<String>,
    /// Where the measuring has several recipients: which copy this plan is of. Scales are then those of the copy.
    pub copy: Option<Box<Copy>>,
}

impl Plan {
    /// Whether a level is in use.
    pub(crate) fn uses(&self, at: Level) -> bool {
        let levels = self.levels.get(at.dimension);
        levels.is_some_and(|levels| u8::try_from(at.level).is_ok_and(|l| levels.binary_search(&l).is_ok()))
    }

    /// Which exact table holds a cuboid's component or table, if one does.
    pub fn exact_above(&self, cuboid: &Cuboid) -> Option<usize> {
        self.exact.iter().position(|e| cuboid.is_below(e))
    }
}

/// Measurements are numbered through all channels, those of rows first: by that number noise is drawn, scales of copies are listed and
/// values are found.
impl Plan {
    /// The channel of a subject.
    pub fn channel(&self, subject: &Subject) -> Option<&Channel> {
        self.channels.iter().find(|c| c.subject == *subject)
    }

    /// The channel of rows, which comes first.
    pub fn rows(&self) -> &Channel {
        self.channel(&Subject::Rows).unwrap_or(&NO_ROWS)
    }

    /// The channel of rows, to be changed.
    pub fn rows_mut(&mut self) -> &mut Channel {
        if self.channels.first().is_none_or(|c| c.subject != Subject::Rows) {
            self.channels.insert(0, NO_ROWS.clone());
        }
        &mut self.channels[0]
    }

    /// The channel of a plan that was made for one [alone](Plan::alone): the first.
    pub fn only(&self) -> &Channel {
        self.channels.first().unwrap_or(&NO_ROWS)
    }

    /// The channels other than rows.
    pub fn beside(&self) -> impl Iterator<Item = &Channel> {
        self.channels.iter().filter(|c| c.subject != Subject::Rows)
    }

    /// The numbers that are summed, each with the tables of its sums.
    pub fn summed(&self) -> impl Iterator<Item = (&Arc<Quantity>, &[Table])> {
        self.channels.iter().filter_map(|c| match &c.subject {
            Subject::Sum(quantity) => Some((quantity, &c.workload[..])),
            _ => None,
        })
    }

    /// The tables of sums that are published without noise, each with its number.
    pub(crate) fn exact_sums(&self) -> impl Iterator<Item = (&Arc<Quantity>, &Cuboid)> {
        let sums = self.channels.iter().filter_map(|c| match &c.subject {
            Subject::Sum(quantity) => Some((quantity, &c.exact)),
            _ => None,
        });
        sums.flat_map(|(quantity, exact)| exact.iter().map(move |e| (quantity, e)))
    }

    /// The measurements of all channels.
    pub fn measurements(&self) -> impl Iterator<Item = &Measurement> + Clone {
        self.channels.iter().flat_map(|c| &c.measurements)
    }

    /// The measurements of all channels, to be changed.
    pub fn measurements_mut(&mut self) -> impl Iterator<Item = &mut Measurement> {
        self.channels.iter_mut().flat_map(|c| &mut c.measurements)
    }

    /// How many measurements there are in all channels.
    pub fn measured(&self) -> usize {
        self.channels.iter().map(|c| c.measurements.len()).sum()
    }

    /// A measurement by its number, with its channel.
    pub fn measurement(&self, index: usize) -> Option<(&Channel, &Measurement)> {
        let mut left = index;
        for channel in &self.channels {
            match channel.measurements.get(left) {
                Some(found) => return Some((channel, found)),
                None => left -= channel.measurements.len(),
            }
        }
        None
    }

    /// The numbers of a subject's measurements; none where there is no such channel.
    pub fn numbers(&self, subject: &Subject) -> Range<usize> {
        let mut first = 0;
        for channel in &self.channels {
            let end = first + channel.measurements.len();
            if channel.subject == *subject {
                return first..end;
            }
            first = end;
        }
        first..first
    }

    /// The plan of rows alone, as the plan section of a file has it, with the exact tables.
    pub fn of_rows(&self) -> Plan {
        let mut plan = self.first();
        plan.channels.truncate(1);
        Plan { zeros: Vec::new(), copy: None, ..plan }
    }

    /// The same measurements of rows, where these tables are asked for.
    pub fn with_workload(&self, workload: Vec<Table>) -> Plan {
        let mut plan = self.clone();
        plan.rows_mut().workload = workload;
        plan
    }

    /// The plan as one channel sees it: that channel alone, and of levels, exact tables and empty cells what concerns it. Its measurements are
    /// numbered from 0; their noise is what it was. A channel that is not there has no measurement.
    pub fn alone(mut self, subject: &Subject) -> Plan {
        if self.channels.len() > 1 {
            let own = self.numbers(subject);
            if let Some(copy) = &mut self.copy {
                for list in std::iter::once(&mut copy.scales).chain(&mut copy.further) {
                    *list = list.get(own.clone()).unwrap_or_default().to_vec();
                }
            }
            self.channels.retain(|c| c.subject == *subject);
        }
        if !subject.has_cells() {
            self.levels.fill(vec![0]);
            self.exact.clear();
            self.zeros.clear();
        }
        // The plan's exact tables are of rows; a channel beside them has its own.
        if *subject != Subject::Rows {
            let own = self.channels.first().filter(|c| c.subject == *subject);
            self.exact = own.map_or(Vec::new(), |c| c.exact.clone());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Block;
    use crate::plan::copies::{Centres, Mode, Recipient};

    fn plan() -> Plan {
        let table = |d| Block::Table(Cuboid::new(vec![(d, 1)]));
        let measured = |d, scale| Measurement { block: table(d), scale: Rational::whole(scale) };
        Plan {
            noise: Noise::Gaussian,
            budget: Rational::ONE,
            neighbours: Neighbours::Substitute,
            max_rows: 3,
            measure: Measure::Queries,
            budgets: BudgetRule::Optimal,
            levels: vec![vec![0, 1]; 2],
            channels: vec![
                Channel::rows(Vec::new(), vec![measured(0, 50), measured(1, 70)]),
                Channel::cut_units(Rational::whole(90)),
            ],
            exact: vec![Cuboid::new(vec![(0, 1)])],
            zeros: vec!["a = 1".into()],
            copy: None,
        }
    }

    #[test]
    fn measurements_are_numbered_through_all_channels() {
        let plan = plan();
        assert_eq!((plan.measured(), plan.measurements().count()), (3, 3));
        assert_eq!((plan.numbers(&Subject::Rows), plan.numbers(&Subject::CutUnits)), (0..2, 2..3));
        for (i, m) in plan.measurements().enumerate() {
            let (channel, found) = plan.measurement(i).unwrap();
            assert_eq!((found, plan.numbers(&channel.subject).contains(&i)), (m, true));
        }
        assert!(plan.measurement(3).is_none());
        let rows = plan.clone().alone(&Subject::Rows);
        assert_eq!((rows.channels.len(), &rows.exact, &rows.zeros), (1, &plan.exact, &plan.zeros));
        assert!(rows.numbers(&Subject::CutUnits).is_empty() && rows.clone().alone(&Subject::Rows) == rows);
        let cut = plan.alone(&Subject::CutUnits);
        assert!(cut.exact.is_empty() && cut.zeros.is_empty() && cut.rows().measurements.is_empty());
        assert_eq!(cut.only(), &Channel::cut_units(Rational::whole(90)));
    }

    /// A channel alone has the noise that it has beside the others, in every copy.
    #[test]
    fn noise_of_a_channel_alone_is_its_own() {
        let recipients = |names: &[u128]| {
            let one = |&n: &u128| Recipient { name: format!("r{n}"), factor: Rational::whole(n) };
            names.iter().map(one).collect()
        };
        for mode in [Mode::Nested, Mode::Shifted { centres: Centres { mean: 4, reach: 4 } }] {
            for copy in plan().copies(mode, recipients(&[1, 2, 5])).unwrap() {
                for subject in [Subject::Rows, Subject::CutUnits] {
                    let alone = copy.clone().alone(&subject);
                    assert_eq!(alone.measured(), copy.numbers(&subject).len());
                    for (own, i) in copy.numbers(&subject).enumerate() {
                        assert_eq!(
                            (alone.layers(own), alone.accounted(own)),
                            (copy.layers(i), copy.accounted(i))
                        );
                    }
                }
                // The count of cut units is one number beside the tables: nothing is added to it.
                assert!(copy.clone().alone(&Subject::CutUnits).centres().is_none());
                assert_eq!(copy.centres().is_some(), mode != Mode::Nested);
            }
        }
    }
}
