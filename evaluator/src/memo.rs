//! What is made once for each key.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

/// What was made, by its key; all is forgotten when it is `MOST`.
#[derive(Debug)]
pub(crate) struct Memo<K, V, const MOST: usize = { usize::MAX }>(Mutex<HashMap<K, V>>);

impl<K, V, const MOST: usize> Default for Memo<K, V, MOST> {
    fn default() -> Memo<K, V, MOST> {
        Memo(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone, const MOST: usize> Memo<K, V, MOST> {
    /// What has this key. Nobody waits for another's making: what two make at once is the same.
    pub(crate) fn of<E>(&self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return Ok(known.clone());
        }
        let made = make()?;
        let mut known = lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, made.clone());
        Ok(made)
    }
}
