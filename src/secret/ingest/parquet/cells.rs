//! What becomes of a column's cells: nodes, codes of texts, or identifiers of units.

use super::super::amount::{Factor, Scale};
use super::super::chunk::Chunk;
use super::super::code::Coder;
use super::super::error::Fault;
use super::super::fields::{UnitField, order_of, unit_of};
use super::super::unit::order::KEY;
use super::stored::{Stored, Value};
use crate::spec;
use std::collections::HashMap;
use zeroize::{Zeroize, Zeroizing};

/// Where cells go.
#[derive(Clone, Copy)]
pub(super) enum To<'f> {
    Dimension(usize, &'f Coder<'f>),
    /// One of the columns that are multiplied.
    Factor(usize, &'f Coder<'f>),
    Unit(&'f UnitField<'f>, &'f spec::Blanks),
    /// One of the columns that order the rows of a unit.
    Order(usize, &'f spec::Blanks),
}

/// Stands for an entry of the dictionary that has no node: none is as large.
const NONE: u32 = u32::MAX;

/// Takes the cells of one column chunk. Every entry of a dictionary is coded once; that it cannot be coded matters only if a row has it.
pub(super) struct Cells<'f> {
    to: To<'f>,
    nodes: Zeroizing<Vec<u32>>,
    texts: Zeroizing<Vec<u64>>,
    factors: Zeroizing<Vec<Factor>>,
    ids: Vec<Zeroizing<Vec<u8>>>,
    faults: HashMap<u32, Fault>,
    /// The nodes of whole numbers that came last.
    known: Box<[(i64, u32)]>,
    text: Zeroizing<Vec<u8>>,
    /// The first row of the chunk that cannot be coded.
    bad: Option<(usize, Fault)>,
    /// All such rows.
    all: Vec<(usize, Fault)>,
}

/// How many whole numbers are remembered.
const KNOWN: usize = 256;

impl<'f> Cells<'f> {
    /// With memory for nodes.
    pub(super) fn new(to: To<'f>, mut nodes: Zeroizing<Vec<u32>>) -> Cells<'f> {
        nodes.clear();
        Cells {
            to,
            nodes,
            texts: Zeroizing::default(),
            factors: Zeroizing::default(),
            ids: Vec::new(),
            faults: HashMap::new(),
            known: vec![(0, NONE); KNOWN].into(),
            text: Zeroizing::default(),
            bad: None,
            all: Vec::new(),
        }
    }

    /// Gives the memory for nodes back.
    pub(super) fn take_nodes(&mut self) -> Zeroizing<Vec<u32>> {
        std::mem::take(&mut self.nodes)
    }

    /// Makes room for so many cells.
    pub(super) fn begin(&mut self, chunk: &mut Chunk, len: usize) {
        self.bad = None;
        self.all.clear();
        if let To::Dimension(dimension, coder) = self.to
            && coder.is_text()
            && let Some(texts) = chunk.texts_mut(dimension)
        {
            texts.clear();
            texts.resize(len, 0);
        }
    }

    /// What is wrong with the first row that cannot be coded, since `begin`.
    pub(crate) fn bad(&self) -> Option<(usize, Fault)> {
        self.bad
    }

    /// What is wrong with all rows that cannot be coded, since `begin`: a row more than once where that is so.
    pub(super) fn all(&mut self) -> impl Iterator<Item = (usize, Fault)> {
        self.all.drain(..)
    }

    fn wrong(&mut self, row: usize, fault: Fault) {
        self.all.push((row, fault));
        if self.bad.is_none_or(|(first, _)| row < first) {
            self.bad = Some((row, fault));
        }
    }

    /// Forgets the dictionary.
    pub(crate) fn new_dictionary(&mut self) {
        self.nodes.clear();
        self.texts.clear();
        self.factors.clear();
        self.ids.clear();
        self.faults.clear();
    }

    /// Adds an entry to the dictionary.
    pub(crate) fn entry(&mut self, value: Value<'_>) {
        if let To::Dimension(_, coder) = self.to
            && !coder.is_text()
            && let Some(node) = self.quick(coder, value)
        {
            return self.nodes.push(node);
        }
        value.write(&mut self.text);
        match self.to {
            To::Dimension(_, coder) => {
                let code = coder.code(&self.text);
                if let Err(fault) = code {
                    self.faults.insert(self.nodes.len().max(self.texts.len()) as u32, fault);
                }
                match coder.is_text() {
                    true => self.texts.push(code.unwrap_or(0)),
                    false => self.nodes.push(code.map_or(NONE, |node| node as u32)),
                }
            }
            To::Factor(_, coder) => {
                let said = coder.factor(&self.text);
                if let Err(fault) = said {
                    self.faults.insert(self.factors.len() as u32, fault);
                }
                self.factors.push(said.unwrap_or_default());
            }
            To::Unit(_, blanks) | To::Order(_, blanks) => {
                self.ids.push(Zeroizing::new(blanks.value(&self.text).to_vec()));
            }
        }
    }

    /// The rows from `row` on are these places of the dictionary, of which so many may be. `None` where one may not.
    pub(super) fn places(
        &mut self,
        chunk: &mut Chunk,
        row: usize,
        places: &[u32],
        entries: usize,
    ) -> Option<()> {
        if let To::Dimension(dimension, coder) = self.to
            && !coder.is_text()
        {
            let out = chunk.nodes_mut(dimension).get_mut(row..row + places.len())?;
            let (mut worst, nodes) = (0, self.nodes.get(..entries)?);
            for (node, &place) in out.iter_mut().zip(places) {
                *node = *nodes.get(place as usize)?;
                worst = worst.max(*node);
            }
            if worst == NONE {
                for (at, place) in places.iter().enumerate() {
                    if self.nodes.get(*place as usize) == Some(&NONE) {
                        let fault = *self.faults.get(place)?;
                        self.wrong(row + at, fault);
                    }
                }
                // Whoever goes on looks at all nodes: there is one for each row.
                out_of_range(chunk, dimension, row, places.len());
            }
            return Some(());
        }
        let mut all = (row..).zip(places);
        all.try_for_each(|(row, &place)| match (place as usize) < entries {
            true => self.place(chunk, row, place),
            false => None,
        })
    }

    /// A row is this place of the dictionary.
    fn place(&mut self, chunk: &mut Chunk, row: usize, place: u32) -> Option<()> {
        match self.to {
            To::Dimension(dimension, coder) => {
                if let Some(&fault) = self.faults.get(&place) {
                    self.wrong(row, fault);
                }
                if coder.is_text() {
                    *chunk.texts_mut(dimension)?.get_mut(row)? = *self.texts.get(place as usize)?;
                } else {
                    *chunk.nodes_mut(dimension).get_mut(row)? = *self.nodes.get(place as usize)?;
                }
            }
            To::Factor(factor, _) => {
                if let Some(&fault) = self.faults.get(&place) {
                    self.wrong(row, fault);
                }
                chunk.set_factor(factor, row, *self.factors.get(place as usize)?);
            }
            To::Unit(unit, _) => {
                let whose = unit.whose(self.ids.get(place as usize)?);
                chunk.push_whose(row, &whose);
                if let Err(fault) = unit_of(&whose) {
                    self.wrong(row, fault);
                }
            }
            To::Order(column, _) => {
                let key = order_of(self.ids.get(place as usize)?);
                self.order(chunk, row, column, key);
            }
        }
        Some(())
    }

    /// A row is this value.
    pub(super) fn value(&mut self, chunk: &mut Chunk, row: usize, value: Value<'_>) -> Option<()> {
        match (self.to, value) {
            (To::Dimension(dimension, coder), _) if !coder.is_text() => {
                let node = match self.quick(coder, value) {
                    Some(node) => node,
                    None => {
                        value.write(&mut self.text);
                        let coded = coder.code(&self.text);
                        coded.map_or_else(
                            |fault| {
                                self.wrong(row, fault);
                                0
                            },
                            |node| node as u32,
                        )
                    }
                };
                *chunk.nodes_mut(dimension).get_mut(row)? = node;
            }
            (To::Dimension(dimension, coder), _) => {
                value.write(&mut self.text);
                let coded = coder.code(&self.text);
                let code = coded.unwrap_or_else(|fault| {
                    self.wrong(row, fault);
                    0
                });
                *chunk.texts_mut(dimension)?.get_mut(row)? = code;
            }
            (To::Factor(factor, coder), _) => {
                value.write(&mut self.text);
                let said = coder.factor(&self.text).unwrap_or_else(|fault| {
                    self.wrong(row, fault);
                    Factor::default()
                });
                chunk.set_factor(factor, row, said);
            }
            (To::Order(column, blanks), _) => {
                value.write(&mut self.text);
                let key = order_of(blanks.value(&self.text));
                self.order(chunk, row, column, key);
            }
            (To::Unit(unit, blanks), _) => {
                value.write(&mut self.text);
                let whose = unit.whose(blanks.value(&self.text));
                chunk.push_whose(row, &whose);
                if let Err(fault) = unit_of(&whose) {
                    self.wrong(row, fault);
                }
            }
        }
        Some(())
    }

    /// What makes nodes of most values without writing them as text, where they are values of an amount.
    pub(super) fn scale(&self) -> Option<&'f Scale<'f>> {
        let To::Dimension(_, coder) = self.to else { return None };
        coder.scale()
    }

    /// The rows from `row` on are these values of an amount: those that are nodes at once, then the others.
    pub(super) fn amounts(
        &mut self,
        chunk: &mut Chunk,
        row: usize,
        (scale, stored): (&Scale<'_>, Stored),
        bytes: &[u8],
    ) -> Option<()> {
        let To::Dimension(dimension, _) = self.to else { return None };
        let mut others: Vec<(usize, &[u8])> = Vec::new();
        let mut out = chunk.nodes_mut(dimension).get_mut(row..)?.iter_mut().enumerate();
        stored.nodes(scale, bytes, |bytes, found| {
            let (at, node) = out.next()?;
            match found {
                Some(found) => *node = found,
                None => others.push((at, bytes)),
            }
            Some(())
        })?;
        others.into_iter().try_for_each(|(at, bytes)| self.value(chunk, row + at, stored.read(bytes)?))
    }

    /// Adds these values of an amount to the dictionary.
    pub(super) fn amount_entries(
        &mut self,
        (scale, stored): (&Scale<'_>, Stored),
        bytes: &[u8],
    ) -> Option<()> {
        self.nodes.reserve_exact(bytes.len() / stored.width().max(1) + 1);
        stored.nodes(scale, bytes, |bytes, found| {
            match found {
                Some(node) => self.nodes.push(node),
                None => self.entry(stored.read(bytes)?),
            }
            Some(())
        })
    }

    fn order(&mut self, chunk: &mut Chunk, row: usize, column: usize, key: Result<[u8; KEY], Fault>) {
        match key {
            Ok(key) => chunk.push_order(column, &key),
            Err(fault) => {
                chunk.push_order(column, &[0; KEY]);
                self.wrong(row, fault);
            }
        }
    }

    /// The node of a value that need not be written as text, if it has one.
    #[inline]
    fn quick(&mut self, coder: &Coder<'_>, value: Value<'_>) -> Option<u32> {
        match value {
            Value::Whole(number) => self.whole(coder, number),
            Value::Day(day) => coder.of_day(day),
            Value::Bytes(bytes) if !bytes.is_empty() => coder.quick(bytes, 0, bytes.len()),
            Value::Decimal(bytes, places) => coder.of_decimal(i128::from_be_bytes(bytes), places),
            Value::Single(v) => coder.scale()?.of_single(v.to_bits()),
            Value::Double(v) => coder.scale()?.of_double(v.to_bits()),
            _ => None,
        }
    }

    /// The node of a whole number. Where numbers are labels or lie in bins they are written out, unless they came lately.
    #[inline]
    fn whole(&mut self, coder: &Coder<'_>, number: i64) -> Option<u32> {
        if let Some(node) = coder.of_whole(number) {
            return Some(node);
        }
        let at = number as usize % KNOWN;
        let known = self.known.get_mut(at)?;
        if known.0 == number && known.1 != NONE {
            return Some(known.1);
        }
        Value::Whole(number).write(&mut self.text);
        let node = coder.quick(&self.text, 0, self.text.len())?;
        *known = (number, node);
        Some(node)
    }
}

/// Rows without a node get one, so that they can be left out like any other.
fn out_of_range(chunk: &mut Chunk, dimension: usize, row: usize, len: usize) {
    if let Some(nodes) = chunk.nodes_mut(dimension).get_mut(row..row + len) {
        nodes.iter_mut().filter(|node| **node == NONE).for_each(|node| *node = 0);
    }
}

impl Drop for Cells<'_> {
    fn drop(&mut self) {
        self.known.iter_mut().for_each(|(number, node)| {
            number.zeroize();
            node.zeroize();
        });
    }
}
