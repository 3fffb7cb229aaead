//! What the measurements say of a few nodes, read from the slices that these are in: a question about one area of millions takes no more.
//!
//! On a [pruned](crate::cube::Axis::prune) axis each node that stands for itself alone has its own number. The others have none in any component: what
//! is not told apart below a node has no part in the components below it, as these sum up to zero within every group.

use super::context::Context;
use super::{RecoverError, Source};
use crate::cube::{Frame, Integers, Level, contrast};
use crate::plan::slices::Slices;
use crate::plan::{Block, Telling};
use std::borrow::Cow;
use std::sync::Arc;

/// How a dimension of a block is told.
fn told(block: &Block, dimension: usize) -> &Telling {
    match block {
        Block::Based(based) => based.told(dimension),
        _ => &Telling::Siblings,
    }
}

/// What the published integers of a component say of each of its nodes, or of the rows of a basis.
pub(super) fn given_back(block: &Block, frame: &Frame, values: &Integers) -> Vec<f64> {
    let mut values = values.floats();
    let mut inner = 1;
    for at in block.cuboid().iter().rev() {
        let rung = frame.rung(at);
        inner *= match told(block, at.dimension) {
            Telling::Basis(basis) => basis.rows(),
            Telling::Weights(weights) => {
                values = weights.give_back(inner, &values);
                rung.len()
            }
            Telling::Siblings => {
                values = contrast::give_back(rung, inner, &values);
                rung.len()
            }
        };
    }
    values
}

/// Along one dimension of a component: how many numbers there are of a piece of it and on the pruned frame, and which become which.
struct Span {
    of_piece: usize,
    near: usize,
    pairs: Vec<(usize, usize)>,
}

/// The numbers of a component, which is measured by itself, on a frame of which some axes are pruned; in units of what is published.
pub(super) fn component<S: Source>(
    context: &Context<S>,
    index: usize,
    near: &Frame,
) -> Result<Vec<f64>, RecoverError> {
    let block = &context.plan.only().measurements[index].block;
    let cut = context.slices(index);
    let pieces: Vec<Option<usize>> = match &cut {
        None => vec![None],
        Some(cut) => {
            let rung = near.rung(cut.level);
            let own = (0..rung.len()).filter(|&i| rung.multiplicity[i] == 1);
            cut.of_nodes(own.map(|i| rung.node(i) as u32)).into_iter().map(Some).collect()
        }
    };
    let lengths: Vec<usize> = block.cuboid().iter().map(|at| length(block, near, at)).collect();
    let mut out = vec![0.0; lengths.iter().product()];
    for piece in pieces {
        let (own, frame, values) = match (piece, &cut) {
            (Some(slice), Some(cut)) => {
                let (own, frame) = block.slice(&context.frame, cut, slice);
                let values = context.read_slice(index, (cut, slice), (&own, &frame))?;
                (Cow::Owned(own), Cow::Owned(frame), values)
            }
            _ => (Cow::Borrowed(block), Cow::Borrowed(&*context.frame), context.read(index)?),
        };
        // A slice whose nodes have no siblings tells nothing.
        if values.len() == 0 {
            continue;
        }
        let values = given_back(&own, &frame, &values);
        let slice = piece.and_then(|slice| Some((cut.as_ref()?, slice)));
        let span = |at: Level| span(&own, &frame, near, at, slice);
        let spans: Vec<Span> = own.cuboid().iter().map(span).collect();
        put(&spans, (0, 0), &values, &mut out);
    }
    Ok(out)
}

fn length(block: &Block, frame: &Frame, at: Level) -> usize {
    told(block, at.dimension).basis().map_or(frame.rung(at).len(), |basis| basis.rows())
}

fn span(block: &Block, frame: &Frame, near: &Frame, at: Level, slice: Option<(&Arc<Slices>, usize)>) -> Span {
    let (of_piece, of_near) = (length(block, frame, at), length(block, near, at));
    let rung = near.rung(at);
    let nodes = slice.filter(|(cut, _)| cut.level == at).map(|(cut, slice)| cut.nodes(slice));
    let place = |node: usize| match nodes {
        None => Some(node),
        Some(nodes) => nodes.binary_search(&(node as u32)).ok(),
    };
    let pairs = match rung.stands_for() {
        [] if nodes.is_none() => (0..of_near).map(|i| (i, i)).collect(),
        _ => {
            let own = (0..of_near).filter(|&i| rung.multiplicity[i] == 1);
            own.filter_map(|i| Some((place(rung.node(i))?, i))).collect()
        }
    };
    Span { of_piece, near: of_near, pairs }
}

/// Puts the numbers of a piece where they are on the pruned frame.
fn put(spans: &[Span], (from, to): (usize, usize), values: &[f64], out: &mut [f64]) {
    match spans {
        [] => out[to] = values[from],
        [span, rest @ ..] => {
            for &(piece, near) in &span.pairs {
                put(rest, (from * span.of_piece + piece, to * span.near + near), values, out);
            }
        }
    }
}
