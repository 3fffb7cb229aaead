//! A dimension with a legend: its labels beside its codes.

use super::dimension::Dimension;
use super::legend::{Labelled, Legend};
use std::collections::HashMap;
use std::sync::Arc;

impl Dimension {
    /// The same dimension with a legend.
    ///
    /// # Errors
    /// What in it does not fit the dimension, in words: a level or a code that there is not, one that is there twice or out of order.
    pub fn explain(&mut self, said: Legend) -> Result<(), String> {
        let mut labels = vec![Vec::new(); self.levels.len()];
        for of in &said.labels {
            let at = self.levels.iter().skip(1).position(|l| l.name == of.level).map(|at| at + 1);
            let place = at.and_then(|at| Some((self.levels.get(at)?, labels.get_mut(at)?)));
            let Some((level, own)) = place else {
                return Err(format!("{} has no level {}", self.name, of.level));
            };
            if !own.is_empty() || of.of.is_empty() {
                return Err(format!("the labels of {}.{} are there twice, or none", self.name, of.level));
            }
            *own = vec![String::new(); level.len()];
            let nodes: HashMap<&str, usize> = level.labels.iter().map(String::as_str).zip(0..).collect();
            let mut next = 0;
            for [code, label] in &of.of {
                let node = nodes.get(code.as_str()).copied().filter(|&node| node >= next);
                let Some((node, place)) = node.and_then(|node| Some((node, own.get_mut(node)?))) else {
                    let name = &self.name;
                    return Err(format!("{name}.{} has no category {code}, or has it before", of.level));
                };
                place.clone_from(label);
                next = node + 1;
            }
        }
        if let Some(label) = &said.missing
            && !self.level(self.finest()).labels.contains(label)
        {
            return Err(format!("{} has no category {label} for empty cells", self.name));
        }
        self.legend = Some(Arc::new(Labelled { said, labels }));
        Ok(())
    }

    /// What is said of it, if anything is.
    pub fn legend(&self) -> Option<&Legend> {
        self.legend.as_deref().map(|l| &l.said)
    }

    /// Which of the finest nodes are not SQL's NULL, where the file says which one is.
    pub(crate) fn present(&self) -> Option<Vec<bool>> {
        let missing = self.legend()?.missing.as_ref()?;
        Some(self.level(self.finest()).labels.iter().map(|label| label != missing).collect())
    }

    /// The labels of a level's nodes, empty for a code without one; `None` for a level without labels.
    pub(crate) fn labels(&self, level: usize) -> Option<&[String]> {
        self.legend.as_ref()?.labels.get(level).map(Vec::as_slice).filter(|labels| !labels.is_empty())
    }

    /// What people call the nodes of a level: each by its label, or by its code where it has none.
    pub fn called(&self, level: usize) -> Vec<String> {
        let codes = &self.level(level).labels;
        match self.labels(level) {
            None => codes.clone(),
            Some(labels) => {
                let called = codes.iter().zip(labels);
                called.map(|(code, label)| if label.is_empty() { code } else { label }.clone()).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::legend::LevelLabels;
    use super::*;

    fn legend(of: &[(&str, &[(&str, &str)])]) -> Legend {
        let pair = |&(code, label): &(&str, &str)| [code.to_owned(), label.to_owned()];
        let labels = of
            .iter()
            .map(|(level, of)| LevelLabels { level: (*level).to_owned(), of: of.iter().map(pair).collect() });
        Legend { dimension: "x".into(), labels: labels.collect(), ..Legend::default() }
    }

    #[test]
    fn labels_stand_with_their_codes_or_are_refused() {
        let x = || Dimension::plain("x", ["a", "b", "c"].map(String::from).to_vec());
        let mut one = x();
        one.explain(legend(&[("x", &[("a", "Ann"), ("c", "Cat")])])).unwrap();
        assert_eq!(one.labels(1).unwrap(), ["Ann", "", "Cat"]);
        assert_eq!(one.called(1), ["Ann", "b", "Cat"]);
        assert_eq!((one.labels(0), one.called(0)), (None, vec!["total".to_owned()]));
        assert_eq!(one.present(), None);
        one.explain(Legend { missing: Some("b".into()), ..legend(&[]) }).unwrap();
        assert_eq!(one.present().unwrap(), [true, false, true]);
        let error = x().explain(Legend { missing: Some("d".into()), ..legend(&[]) }).unwrap_err();
        assert!(error.contains("no category d"), "{error}");
        assert_eq!(one, x(), "what people call its codes makes it no other dimension");
        for (wrong, why) in [
            (&[("y", &[("a", "A")][..])][..], "no level y"),
            (&[("total", &[("total", "A")])], "no level total"),
            (&[("x", &[("d", "D")])], "no category d"),
            (&[("x", &[("b", "B"), ("a", "A")])], "no category a"),
            (&[("x", &[("a", "A"), ("a", "B")])], "no category a"),
            (&[("x", &[("a", "A")]), ("x", &[("b", "B")])], "twice"),
            (&[("x", &[])], "none"),
        ] {
            let error = x().explain(legend(wrong)).unwrap_err();
            assert!(error.contains(why), "{error:?} does not say {why:?}");
        }
    }
}
