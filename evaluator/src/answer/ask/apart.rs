//! Whether two files are two measurings, each with noise of its own.
//!
//! Answers are combined as independent, so one measuring must not come twice: a file that was signed again (on another day, with another
//! line of a ledger) holds the noise it held before, and a mean of it with itself looks more precise than it is. What shows is refused: one
//! charge for both, or the same noisy integers. Copies for several recipients have one charge and say how they hang together.
//!
//! Two files that say they are of one line of one ledger, and disagree on what it says, come from two ledgers of the same people: both were not
//! held against one bound. Forks that show in no line number only the ledger tells (`margins ledger verify`).

use crate::answer::tell::open::Answers;
use crate::cube::Frame;
use crate::recover::{Recovery, Source};
use crate::release::{Kind, Section};

/// Integers that agree by chance with a probability below 2 to the power of minus so many are the same integers.
const NOT_BY_CHANCE: f64 = 20.0;

/// Why two files cannot be asked together; none where they can.
pub(super) fn why_not(a: &Answers, b: &Answers) -> Option<String> {
    let (m, n) = (a.release().manifest(), b.release().manifest());
    let both = format!("{} and {}", a.title(), b.title());
    let copies = match (&m.recipient, &n.recipient) {
        (Some(x), Some(y)) if x.measuring == y.measuring && x.name == y.name => {
            return Some(format!("{both} are both {}'s copy of one measuring, signed twice", x.name));
        }
        (Some(x), Some(y)) => x.measuring == y.measuring,
        _ => false,
    };
    if let (Some(x), Some(y)) = (&m.account, &n.account)
        && x.name.id == y.name.id
    {
        let (id, line) = (&x.name.id, x.line);
        if x.head == y.head && !copies {
            return Some(format!(
                "{both} name one charge, line {line} of the ledger of `{id}`: one measuring that was signed twice, or two that were \
                 paid for once"
            ));
        }
        if x.head != y.head && line == y.line {
            return Some(format!(
                "{both} both say that they were charged in line {line} of the ledger of `{id}`, and that line says something else to each: \
                 there are two ledgers, or an older copy of one was put back. `margins ledger verify {id} --release` shows which file the \
                 ledger holds"
            ));
        }
    }
    let rows = a.evaluator().recovery();
    let same = integers(a).eq(integers(b)) && not_by_chance(rows)
        || a.channels().share_integers(b.channels(), not_by_chance);
    same.then(|| {
        format!("{both} hold the same noisy integers: they are one measuring, and no better known for being given twice")
    })
}

/// The hashes of a file's noisy integers.
fn integers(a: &Answers) -> impl Iterator<Item = &str> {
    let measured = |s: &&Section| s.tag == Kind::Measurements.tag();
    a.release().manifest().sections.iter().filter(measured).map(|s| s.blake3.as_str())
}

/// Whether another measuring of the same people would hardly ever give the same integers. Two draws of one noise are equal with a probability of at
/// most about `1/(2√2 sd)` (of Laplace noise; `1/(2√π sd)` of Gaussian noise), below `1/(2 sd)`; noise that is nearly always zero tells nothing.
fn not_by_chance<S: Source>(recovery: &Recovery<S>) -> bool {
    let (plan, frame) = (recovery.plan(), Frame::new(recovery.cube(), &recovery.plan().levels));
    let bits = plan.only().measurements.iter().map(|m| {
        let variance = plan.noise.variance(m.scale.to_f64());
        let each = (1.0 + 0.5 * libm::log2(variance)).max(0.0);
        each * m.block.values(&frame) as f64
    });
    bits.sum::<f64>() >= NOT_BY_CHANCE
}
