//! Questions about a reader's own areas: a list of labels of one level, or a list that puts each in a district.
//!
//! Whatever is asked of a release with a list is asked of the units in the listed areas alone, as if WHERE said so. Districts are one more level
//! to group by and to name in WHERE, each label with the law of its own areas. None is in two districts, so rows add up.

use crate::answer::error::QueryError;
use crate::answer::tell::open::Answers;
use crate::cube::{Cube, Level};
use crate::release::texts::is_plain;
use crate::sql::did_you_mean;
use std::collections::HashMap;

/// A list of areas, as [`Answers::among`] is given it.
struct Areas<'a> {
    level: &'a str,
    district: Option<&'a str>,
    listed: &'a [(u64, String, String)],
}

impl Areas<'_> {
    /// The list in a cube's own terms: its dimension's level, the labels of districts, and the district of each node of the level.
    fn resolve(&self, cube: &Cube) -> Result<(Level, Vec<String>, Vec<Option<u32>>), String> {
        let level = self.level(cube)?;
        let labels = &level.of(cube).labels;
        let nodes: HashMap<&str, u32> = labels.iter().map(String::as_str).zip(0..).collect();
        let mut first: Vec<u64> = vec![0; labels.len()];
        let mut group_of = vec![None; labels.len()];
        let (mut districts, mut known) = (Vec::new(), HashMap::new());
        for (line, label, district) in self.listed {
            let wrong = |why: String| Err(format!("line {line}: {why}"));
            if label.is_empty() {
                return wrong(format!("the label of {} is empty", self.level));
            }
            if !is_plain(district) {
                return wrong(format!(
                    "the district of `{label}` has control characters, or some that turn the direction of writing"
                ));
            }
            if district.is_empty() && self.district.is_some() {
                return wrong(format!("`{label}` is in no district: leave the line out, or name one"));
            }
            let Some(&node) = nodes.get(&**label) else {
                let close = did_you_mean(label, labels, "there are");
                return wrong(format!("{} has no category `{label}`; {close}", self.level));
            };
            let number = *known.entry(district).or_insert_with(|| {
                districts.push(district.clone());
                districts.len() as u32 - 1
            });
            let (Some(own), Some(before)) = (group_of.get_mut(node as usize), first.get_mut(node as usize))
            else {
                continue;
            };
            match own.replace(number) {
                None => *before = *line,
                Some(other) if other == number => {
                    return wrong(format!("`{label}` is in line {before} already"));
                }
                Some(other) => {
                    let other = districts.get(other as usize).cloned().unwrap_or_default();
                    return wrong(format!(
                        "`{label}` is in {district}, and by line {before} in {other}: districts may not overlap"
                    ));
                }
            }
        }
        if districts.is_empty() {
            return Err("it lists no areas".into());
        }
        if self.district.is_none() {
            districts = vec!["listed".into()];
        }
        Ok((level, districts, group_of))
    }

    /// What the first column is called.
    fn level(&self, cube: &Cube) -> Result<Level, String> {
        let found = cube.resolve(self.level);
        let levels =
            cube.dimensions.iter().enumerate().flat_map(|(at, d)| {
                (1..d.levels.len()).rev().map(move |l| cube.level_name(Level::new(at, l)))
            });
        let names: Vec<String> = levels.collect();
        let Some(level) = found else {
            let close = did_you_mean(self.level, &names, "possible are");
            return Err(format!(
                "its header must name a dimension or a level, not `{}`; {close}",
                self.level
            ));
        };
        if let Some(name) = self.district {
            if name.is_empty() {
                return Err("its second column has no name".into());
            }
            if !is_plain(name) {
                return Err("the name of its second column has control characters, or some that turn the direction of writing".into());
            }
            let same = |known: &String| known.eq_ignore_ascii_case(name);
            if names.iter().any(same) || cube.resolve(name).is_some() {
                return Err(format!("its second column is called {name}, as a dimension or a level is"));
            }
        }
        Ok(level)
    }
}

impl Answers {
    /// From now on, questions are about some areas alone: categories of a dimension or of one of its levels (`place`, `place.county`). Each is
    /// listed with the line to name in an error, its label, and the district that it is in, where `district` says what districts are called.
    ///
    /// # Errors
    /// What is wrong with the list, in one line.
    pub fn among(
        &mut self,
        level: &str,
        district: Option<&str>,
        listed: &[(u64, String, String)],
    ) -> Result<(), QueryError> {
        let areas = Areas { level, district, listed };
        let mut cube = self.cube().clone();
        cube.dimensions.iter_mut().for_each(|d| d.districts = None);
        let (at, districts, group_of) = areas.resolve(&cube).map_err(QueryError::Areas)?;
        let amounts = self.channels().quantities();
        if let Some(name) = district
            && amounts.iter().any(|q| q.name.eq_ignore_ascii_case(name))
        {
            return Err(QueryError::Areas(format!("its second column is called {name}, as an amount is")));
        }
        let count = districts.len();
        let name = district.unwrap_or_default().to_owned();
        cube.dimensions[at.dimension].divide(at.level, name, districts, &group_of);
        let several = match (listed.len(), district) {
            (1, None) => format!("the listed category of {level}"),
            (n, None) => format!("the {n} listed categories of {level}"),
            (n, Some(district)) => format!("the {n} listed categories of {level}, {count} by {district}"),
        };
        self.put_in(cube, (at.dimension, format!("Only of {several}.")));
        Ok(())
    }
}
