//! A reader's own groups of a dimension's nodes, from a list of them.

use super::dimension::{Categories, Dimension, Districts};
use super::filter::one_class;
use std::sync::Arc;

impl Dimension {
    /// With groups of its own reader beside its levels: the group of each node of a level, `None` where it is in none. Groups without a name are
    /// one of all of them.
    pub(crate) fn divide(
        &mut self,
        level: usize,
        name: String,
        mut labels: Vec<String>,
        group_of: &[Option<u32>],
    ) {
        let none = labels.len() as u32;
        if group_of.iter().any(Option::is_none) {
            labels.push(String::new());
        }
        let group = |node: &u32| group_of.get(*node as usize).copied().flatten().unwrap_or(none);
        let finest: Vec<u32> = self.ancestors(self.finest(), level).iter().map(group).collect();
        let (of, group_of) = one_class(self, 0, &finest);
        let group_of = group_of.into_owned();
        let groups = Categories { name, labels, parent: Vec::new(), bounds: Vec::new() };
        self.districts = Some(Arc::new(Districts { groups, of, group_of }));
    }

    /// For each of its finest nodes whether it is in any of its reader's own groups; `None` where there are none.
    pub(crate) fn divided(&self) -> Option<Vec<bool>> {
        let own = self.districts.as_ref()?;
        let inside = |&node: &u32| {
            let group = own.group_of.get(node as usize).and_then(|&g| own.groups.labels.get(g as usize));
            group.is_some_and(|label| !label.is_empty())
        };
        Some(self.ancestors(self.finest(), own.of).iter().map(inside).collect())
    }
}
