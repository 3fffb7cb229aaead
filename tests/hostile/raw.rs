//! Sections written by hand: whatever numbers somebody likes, in the encoding of `schemas/RELEASE-FORMAT.md`. Nothing here
//! is shared with the program, which would refuse to write most of it.

/// Appends values in the wire format.
#[derive(Default, Clone)]
pub(crate) struct Bytes(pub Vec<u8>);

impl Bytes {
    pub(crate) fn byte(&mut self, b: u8) {
        self.0.push(b);
    }

    pub(crate) fn uint(&mut self, v: u128) {
        match v {
            0..=250 => self.0.push(v as u8),
            251..=0xffff => self.marked(251, &(v as u16).to_le_bytes()),
            0x1_0000..=0xffff_ffff => self.marked(252, &(v as u32).to_le_bytes()),
            0x1_0000_0000..=0xffff_ffff_ffff_ffff => self.marked(253, &(v as u64).to_le_bytes()),
            _ => self.marked(254, &v.to_le_bytes()),
        }
    }

    fn marked(&mut self, mark: u8, rest: &[u8]) {
        self.0.push(mark);
        self.0.extend(rest);
    }

    pub(crate) fn int(&mut self, v: i128) {
        self.uint(((v << 1) ^ (v >> 127)) as u128);
    }

    pub(crate) fn text(&mut self, t: &str) {
        self.uint(t.len() as u128);
        self.0.extend(t.as_bytes());
    }

    pub(crate) fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Bytes, &T)) {
        self.uint(items.len() as u128);
        items.iter().for_each(|i| each(self, i));
    }

    pub(crate) fn ratio(&mut self, (num, den): (u128, u128)) {
        self.uint(num);
        self.uint(den);
    }

    fn pairs(&mut self, pairs: &[(u16, u8)]) {
        self.list(pairs, |b, &(d, l)| {
            b.uint(d.into());
            b.byte(l);
        });
    }
}

#[derive(Clone)]
pub(crate) struct Level {
    pub name: String,
    pub labels: Vec<String>,
    pub parents: Vec<u32>,
    pub bounds: Vec<Option<(f64, f64)>>,
}

#[derive(Clone)]
pub(crate) struct Dimension {
    pub name: String,
    pub levels: Vec<Level>,
}

impl Dimension {
    /// One level of `n` nodes.
    pub(crate) fn plain(name: &str, n: usize) -> Dimension {
        Dimension { name: name.into(), levels: vec![level(name, n, vec![0; n])] }
    }
}

pub(crate) fn level(name: &str, n: usize, parents: Vec<u32>) -> Level {
    Level { name: name.into(), labels: (0..n).map(|i| i.to_string()).collect(), parents, bounds: Vec::new() }
}

pub(crate) fn domain(dimensions: &[Dimension]) -> Vec<u8> {
    let mut out = Bytes::default();
    out.list(dimensions, |b, d| {
        b.text(&d.name);
        b.list(&d.levels, |b, l| {
            b.text(&l.name);
            b.list(&l.labels, |b, t| b.text(t));
            b.list(&l.parents, |b, &p| b.uint(p.into()));
            b.list(&l.bounds, |b, bounds| match bounds {
                None => b.byte(0),
                Some((lo, hi)) => {
                    b.byte(2);
                    b.0.extend(lo.to_le_bytes());
                    b.0.extend(hi.to_le_bytes());
                }
            });
        });
    });
    out.0
}

pub(crate) type Pairs = Vec<(u16, u8)>;
pub(crate) type Ratio = (u128, u128);

#[derive(Clone)]
pub(crate) enum Block {
    /// Tag 1 component, 2 table, 3 differences, 4 coefficients, or one that does not exist.
    Of(u8, Pairs),
    /// Rows: cell and factor.
    Rows(Pairs, Vec<Vec<(u32, i32)>>),
    /// Bases: how each dimension is told.
    Based(Pairs, Vec<Told>),
}

#[derive(Clone)]
pub(crate) enum Told {
    Siblings,
    Known,
    Basis(Vec<i32>),
    /// Runs of nodes with one factor.
    Weights(Vec<(u32, u32)>),
    /// Others of the same level.
    Others(Vec<(u32, u32)>),
    /// Those that came after so many.
    Later(u8),
}

#[derive(Clone)]
pub(crate) struct Plan {
    pub noise: u8,
    pub budget: Ratio,
    pub neighbours: u8,
    pub max_rows: u32,
    pub measure: u8,
    pub budgets: u8,
    pub levels: Vec<Vec<u8>>,
    pub workload: Vec<(Pairs, Ratio)>,
    pub measurements: Vec<(Block, Ratio)>,
}

impl Plan {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut b = Bytes::default();
        b.byte(self.noise);
        b.ratio(self.budget);
        b.byte(self.neighbours);
        b.uint(self.max_rows.into());
        b.byte(self.measure);
        b.byte(self.budgets);
        b.list(&self.levels, |b, l| b.list(l, |b, &l| b.byte(l)));
        b.list(&self.workload, |b, (cuboid, weight)| {
            b.pairs(cuboid);
            b.ratio(*weight);
        });
        b.list(&self.measurements, |b, (block, scale)| {
            match block {
                Block::Of(tag, pairs) => {
                    b.byte(*tag);
                    b.pairs(pairs);
                }
                Block::Rows(pairs, rows) => {
                    b.byte(5);
                    b.pairs(pairs);
                    b.list(rows, |b, row| {
                        b.list(row, |b, &(cell, factor)| {
                            b.uint(cell.into());
                            b.int(factor.into());
                        });
                    });
                }
                Block::Based(pairs, told) => {
                    b.byte(6);
                    b.pairs(pairs);
                    b.list(told, |b, told| match told {
                        Told::Siblings => b.byte(1),
                        Told::Known => b.byte(2),
                        Told::Basis(entries) => {
                            b.byte(3);
                            b.list(entries, |b, &e| b.int(e.into()));
                        }
                        Told::Later(number) => {
                            b.byte(6);
                            b.byte(*number);
                        }
                        Told::Weights(runs) | Told::Others(runs) => {
                            b.byte(if matches!(told, Told::Weights(_)) { 4 } else { 5 });
                            b.list(runs, |b, &(nodes, factor)| {
                                b.uint(nodes.into());
                                b.uint(factor.into());
                            });
                        }
                    });
                }
            }
            b.ratio(*scale);
        });
        b.0
    }
}

/// One measurement's integers, all of one width.
pub(crate) fn packed(width: u8, values: &[i64]) -> Vec<u8> {
    let mut out = vec![width];
    let (mut buffer, mut held) = (0u128, 0u32);
    for &v in values {
        buffer |= u128::from(((v << 1) ^ (v >> 63)) as u64) << held;
        held += u32::from(width);
        while held >= 8 {
            out.push(buffer as u8);
            buffer >>= 8;
            held -= 8;
        }
    }
    if held > 0 {
        out.push(buffer as u8);
    }
    out
}

/// A table without noise.
pub(crate) fn exact(pairs: &[(u16, u8)], counts: &[u8]) -> Vec<u8> {
    let mut out = vec![pairs.len() as u8];
    for (d, l) in pairs {
        out.extend(d.to_le_bytes());
        out.push(*l);
    }
    out.extend(counts);
    out
}

#[derive(Clone)]
pub(crate) struct Projection {
    /// Tag, rows, and for a sketch its buckets.
    pub shape: (u8, u32, u32),
    pub key: Vec<(u16, bool)>,
    pub independence: u32,
    pub seed: [u8; 32],
    pub noise: u8,
    pub scale: Ratio,
    pub budget: Ratio,
    pub neighbours: u8,
    pub max_rows: u32,
    pub queries: u64,
    pub failure: Ratio,
    pub sparsity: u32,
    pub norm_bound: u64,
}

impl Projection {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut b = Bytes::default();
        b.byte(self.shape.0);
        b.uint(self.shape.1.into());
        if self.shape.0 == 2 {
            b.uint(self.shape.2.into());
        }
        b.list(&self.key, |b, &(d, text)| {
            b.uint(d.into());
            b.byte(text.into());
        });
        b.uint(self.independence.into());
        b.0.extend(self.seed);
        b.byte(self.noise);
        b.ratio(self.scale);
        b.ratio(self.budget);
        b.byte(self.neighbours);
        b.uint(self.max_rows.into());
        b.uint(self.queries.into());
        b.ratio(self.failure);
        b.uint(self.sparsity.into());
        b.uint(self.norm_bound.into());
        b.0
    }
}
