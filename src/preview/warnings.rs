//! What the holder of the data should know before a release.

use super::reserved::device;
use super::words::{counted, grouped};
use crate::release::parts::folded;
use crate::spec::{Budget, Spec, Unconfirmed};

/// Specs are seldom longer.
const LONG_SPEC: usize = 8 << 10;
/// Budgets above these are spent by mistake, or protect nobody.
const LARGE_RHO: f64 = 4.0;
const LARGE_EPSILON: f64 = 20.0;
/// A δ above this is likely to come true for somebody where a hundred thousand are counted.
const LARGE_DELTA: f64 = 1e-5;

impl Spec {
    /// What the holder of the data should know before a release, in sentences.
    pub fn warnings(&self) -> Vec<String> {
        let paths = self.absolute_paths();
        let whole = (!paths.is_empty()).then(|| {
            format!(
                "warning: the spec is published with the release, and it names {}: whole paths tell the names of folders and people. \
                 Write them relative to the spec.",
                paths.join(", ")
            )
        });
        let long = (self.source.len() > LONG_SPEC).then(|| {
            let comments = self.source.lines().filter(|line| line.trim_start().starts_with('#'));
            let of_them = match comments.map(|line| line.len() as u64 + 1).sum() {
                0 => String::new(),
                n => format!(", {} of them comments", grouped(n)),
            };
            format!(
                "warning: the spec is published with the release, byte for byte, and it is long: {} bytes{of_them}. Rows of the data and remarks for \
                 colleagues do not belong there.",
                grouped(self.source.len() as u64)
            )
        });
        let device = self.device().map(|why| format!("warning: there is no release yet: {why}."));
        let part = self.account.part.as_ref().filter(|part| folded(part).is_none());
        let part = part.map(|part| format!("warning: {}: no ledger takes it.", no_part(part)));
        let draft = self.unconfirmed.as_ref();
        let draft =
            draft.map(|of| format!("warning: there is no release of this spec yet: {}.", unconfirmed(of)));
        let (large, likely) = (large(self.privacy.budget), likely(self.privacy.budget));
        [whole, long, device, part, draft, large, likely].into_iter().flatten().collect()
    }

    /// Why files of this release would be lost on some machines, if they would.
    pub(crate) fn device(&self) -> Option<String> {
        let dataset = self.dataset.as_ref();
        device("the release's name", &self.name)
            .or_else(|| dataset.and_then(|dataset| device("the dataset's id", &dataset.id)))
    }
}

/// What is wrong with the name of a part of the people that no ledger takes.
pub(crate) fn no_part(part: &str) -> String {
    format!(
        "the part `{}` is written in other characters than ids: each side of NAME=PART has letters (A to Z), digits, dots, - and _, a letter or digit \
         first, and capitals are no difference. Names that only look different would be different people",
        part.escape_debug()
    )
}

/// Whether a budget is beyond what protects anybody: the 2020 census of the United States spent rho = 2.6, or ε = 17.
fn large(budget: Budget) -> Option<String> {
    let (name, amount, most) = match budget {
        Budget::Rho(rho) => ("rho", rho, LARGE_RHO),
        Budget::Epsilon(epsilon) | Budget::EpsilonDelta(epsilon, _) => ("epsilon", epsilon, LARGE_EPSILON),
    };
    let beyond = amount.to_f64() > most;
    beyond.then(|| {
        format!(
            "warning: {name} = {amount} is a budget so large that it protects hardly anybody (above {most})."
        )
    })
}

/// Whether a δ lets it happen to somebody that nothing protects them: the most precise plan may then draw no noise for most of its counts.
fn likely(budget: Budget) -> Option<String> {
    let Budget::EpsilonDelta(_, delta) = budget else { return None };
    (delta.to_f64() > LARGE_DELTA).then(|| {
        format!(
            "warning: delta = {delta} is large: with that probability anything may become known of a person, and the most precise plan may draw no noise for most \
             counts. Usual is 1e-6 or less."
        )
    })
}

/// What of a draft must be gone before there is a release.
pub(crate) fn unconfirmed(waits: &Unconfirmed) -> String {
    let lists = (waits.lists > 0).then(|| {
        let lists = counted(waits.lists as u64, "list");
        format!("{lists} drafted from the data that nobody has confirmed (`confirmed = false`)")
    });
    let left = (waits.suggestions > 0).then(|| {
        format!("{} of suggestions from the data (`#?`)", counted(waits.suggestions as u64, "line"))
    });
    let all: Vec<String> = lists.into_iter().chain(left).collect();
    format!("it has {}", all.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::LONG_SPEC;
    use crate::spec::Spec;

    /// A path stands in what is published, wherever the spec names a file.
    #[test]
    fn whole_paths_are_told() {
        for named in [
            "[data]\npath = \"X\"",
            "[strategy]\nexpected = { file = \"X\" }",
            "[strategy]\nrows = { file = \"X\" }",
        ] {
            let mut spec = Spec::from_toml(include_str!("../../tests/cmd/files/asked.toml")).unwrap();
            spec.source = named.replace('X', "/home/ann/x");
            assert!(spec.warnings().concat().contains("it names /home/ann/x:"), "{named}");
        }
    }

    #[test]
    fn budgets_that_protect_nobody_are_told() {
        let said = |budget: &str| {
            let text = include_str!("../../tests/cmd/files/asked.toml");
            let line = text.lines().find(|line| line.starts_with("epsilon")).unwrap();
            Spec::from_toml(&text.replace(line, budget)).unwrap().warnings().concat()
        };
        for (large, fair) in [
            ("rho = 4.5", "rho = 4"),
            ("epsilon = 21", "epsilon = 20"),
            ("epsilon = 30\ndelta = 1e-9", "rho = 1"),
        ] {
            assert!(said(large).contains("protects hardly anybody"), "{large}");
            assert_eq!(said(fair), "", "{fair}");
        }
        assert!(said("epsilon = 1\ndelta = 1e-3").contains("delta = 1/1000 is large"));
        assert_eq!(said("epsilon = 1\ndelta = 1e-5"), "");
    }

    #[test]
    fn rows_in_comments_are_seen() {
        let text = include_str!("../../tests/cmd/files/asked.toml");
        let rows = "# 1017,F,42,HIV\n".repeat(LONG_SPEC / 16);
        let warned = |text: &str| Spec::from_toml(text).unwrap().warnings();
        assert_eq!(warned(text), [""; 0]);
        let (all, comments) = (text.len() + rows.len(), text.lines().next().unwrap().len() + 1 + rows.len());
        let said = warned(&(rows + text)).concat();
        let digits = |n: usize| super::grouped(n as u64);
        assert!(
            said.contains(&format!("{} bytes, {} of them comments", digits(all), digits(comments))),
            "{said}"
        );
    }

    /// Of a long spec without comments none are counted.
    #[test]
    fn long_lists_are_no_comments() {
        let text = include_str!("../../tests/cmd/files/asked.toml");
        let plain: String = text.lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect();
        let long = format!("{plain}\n{}", " \n".repeat(LONG_SPEC));
        let said = Spec::from_toml(&long).unwrap().warnings().concat();
        assert!(said.contains("it is long") && !said.contains("comments"), "{said}");
    }

    /// Where every list is confirmed, the suggestions that are left are counted alone.
    #[test]
    fn suggestions_alone_keep_a_draft_waiting() {
        let text = include_str!("../../tests/cmd/files/asked.toml");
        let spec = Spec::from_toml(&format!("{text}\n#? levels = 3\n#? levels = 4\n")).unwrap();
        let said = spec.warnings().concat();
        assert_eq!(
            said,
            "warning: there is no release of this spec yet: it has 2 lines of suggestions from the data (`#?`)."
        );
    }
}
