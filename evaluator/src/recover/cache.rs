//! Recovered components, kept while they are small: coarse ones are needed by many tables.

use crate::cube::Cuboid;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Components of up to this many cells are always worth keeping.
const SMALL: usize = 1 << 16;
/// All small ones together, in cells.
const MOST: usize = 1 << 24;

#[derive(Default)]
pub(super) struct Cache {
    parts: Mutex<(HashMap<Cuboid, Arc<[f64]>>, usize)>,
}

impl Cache {
    fn lock(&self) -> MutexGuard<'_, (HashMap<Cuboid, Arc<[f64]>>, usize)> {
        // A panic elsewhere leaves nothing half-written here.
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, a: &Cuboid) -> Option<Arc<[f64]>> {
        self.lock().0.get(a).cloned()
    }

    /// Keeps a copy of a small component.
    pub(super) fn offer(&self, a: &Cuboid, part: &[f64]) {
        let mut cache = self.lock();
        if part.len() <= SMALL && cache.1 + part.len() <= MOST {
            cache.1 += part.len();
            cache.0.insert(a.clone(), part.into());
        }
    }
}
