//! Groups that a CASE makes: one answer from that of every combination of bands.

use super::open::QueryError;
use super::query::{Notes, Options};
use super::render::{Caveat, ResultCell, ResultTable};
use super::rows::{Sortable, kept};
use super::simultaneous::{Simultaneous, Together};
use crate::cube::Cube;
use crate::sql::{Query, SelectColumn};

/// The rows of all combinations. `one` answers the query of one of them, `caveats` are of all units together.
pub(super) fn answer(
    whole: &Query,
    cube: &Cube,
    options: &Options,
    caveats: Vec<Caveat>,
    one: &dyn Fn(usize, &Options) -> Result<ResultTable, QueryError>,
) -> Result<ResultTable, QueryError> {
    if options.joint == Some(Simultaneous::MaxZ) {
        return Err(QueryError::Bands("bands are widened by --joint=bonferroni"));
    }
    let all = |options: &Options| -> Result<Vec<ResultTable>, QueryError> {
        (0..whole.in_bands.len()).map(|at| one(at, options)).collect()
    };
    let alone = Options { joint: None, ..*options };
    let mut tables = all(&alone)?;
    let mut notes = Notes::default();
    let figures = whole.columns.iter().filter(|c| !c.is_label()).count();
    let intervals = tables.iter().map(|t| t.rows.len()).sum::<usize>() * figures;
    let mut together = None;
    if options.joint.is_some() && intervals > 1 {
        let each = 1.0 - (1.0 - options.level) / intervals as f64;
        tables = all(&Options { level: each, ..alone })?;
        let made = Together { intervals, each, max_z: None, ratios: false, steps: false, refused: false };
        notes.add(made.note(options.level));
        together = Some(made);
    }
    let Some(first) = tables.first() else { return Ok(ResultTable::default()) };
    let mut out = ResultTable {
        columns: first.columns.clone(),
        level: options.level,
        methods: first.methods.clone(),
        together,
        caveats,
        ..ResultTable::default()
    };
    // Where each column of SELECT stands: others may stand between them.
    let places: Vec<usize> = (whole.columns.iter())
        .map(|c| out.columns.iter().position(|o| o.name == c.name()).unwrap_or(0))
        .collect();
    let mut rows = Vec::new();
    for (bands, table) in whole.in_bands.iter().zip(tables) {
        for mut cells in table.rows {
            let mut keys = Vec::with_capacity(places.len());
            for (column, &at) in whole.columns.iter().zip(&places) {
                if let SelectColumn::Band { index, .. } = column
                    && let Some(cell) = cells.get_mut(at)
                {
                    *cell = ResultCell::Label(bands.labels[*index].clone());
                }
                keys.push(match (column, cells.get(at)) {
                    (SelectColumn::Band { index, .. }, _) => bands.ranks[*index] as f64,
                    (SelectColumn::Group { level, .. }, Some(ResultCell::Label(label))) => {
                        let labels = &level.of(cube).labels;
                        labels.iter().position(|l| l == label).unwrap_or(labels.len()) as f64
                    }
                    (_, Some(ResultCell::Figure(figure))) => figure.estimate,
                    _ => 0.0,
                });
            }
            rows.push(Sortable { nodes: Vec::new(), keys, cells });
        }
        table.notes.into_iter().for_each(|note| notes.add(note));
    }
    let labels: Vec<usize> = (0..whole.columns.len()).filter(|&c| whole.columns[c].is_label()).collect();
    rows.sort_by(|a, b| {
        let order = labels.iter().map(|&c| a.keys[c].total_cmp(&b.keys[c]));
        order.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    });
    out.rows = kept(whole, rows, &mut notes);
    out.notes = notes.0;
    Ok(out)
}
