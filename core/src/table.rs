//! A sorted table for the few entries that a session has open at a time.
//!
//! Keys mostly arrive in order and leave in order. Then an entry goes in at one end and out at the other, at a fraction
//! of what a tree costs, and an empty table can give back all of its memory.

use alloc::collections::VecDeque;

/// A map from keys to values, in the order of the keys.
#[derive(Clone, Debug)]
pub(crate) struct Table<K, V> {
    entries: VecDeque<(K, V)>,
}

impl<K: Ord, V> Default for Table<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Ord, V> Table<K, V> {
    pub(crate) const fn new() -> Self {
        Self { entries: VecDeque::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Where a key is, or where it belongs.
    fn place(&self, key: &K) -> Result<usize, usize> {
        match (self.entries.front(), self.entries.back()) {
            (_, Some((last, _))) if last < key => Err(self.entries.len()),
            (Some((first, _)), _) if first == key => Ok(0),
            _ => self.entries.binary_search_by(|(other, _)| other.cmp(key)),
        }
    }

    /// Puts a value under a key, in place of the one that was there.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        match self.place(&key) {
            Ok(at) => self.entries[at].1 = value,
            Err(at) if at == self.entries.len() => self.entries.push_back((key, value)),
            Err(at) => self.entries.insert(at, (key, value)),
        }
    }

    pub(crate) fn contains(&self, key: &K) -> bool {
        self.place(key).is_ok()
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.place(key).ok().map(|at| &self.entries[at].1)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.place(key).ok().map(|at| &mut self.entries[at].1)
    }

    /// The entry for whose key `compare` says that they are equal.
    #[cfg(feature = "server")]
    pub(crate) fn find(&self, mut compare: impl FnMut(&K) -> core::cmp::Ordering) -> Option<(&K, &V)> {
        let at = self.entries.binary_search_by(|(key, _)| compare(key)).ok()?;
        self.entries.get(at).map(|(key, value)| (key, value))
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let removed = match self.place(key).ok()? {
            0 => self.entries.pop_front(),
            at => self.entries.remove(at),
        };
        removed.map(|(_, value)| value)
    }

    pub(crate) fn first(&self) -> Option<(&K, &V)> {
        self.entries.front().map(|(key, value)| (key, value))
    }

    /// All entries, by key.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// Takes all entries out, by key.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = (K, V)> + use<K, V> {
        core::mem::take(&mut self.entries).into_iter()
    }

    pub(crate) fn clear(&mut self) {
        self.entries = VecDeque::new();
    }

    /// Gives back the memory that nothing is in, in a table that is to stay as it is for long.
    #[cfg(feature = "server")]
    pub(crate) fn fit(&mut self) {
        self.entries.shrink_to_fit();
    }

    /// Gives memory back if there is nothing in it.
    pub(crate) fn trim(&mut self) {
        if self.entries.is_empty() {
            self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;
    use quickcheck::quickcheck;

    quickcheck! {
        fn it_does_what_a_tree_does(steps: Vec<(u8, bool)>) -> bool {
            let mut table = Table::new();
            let mut tree = BTreeMap::new();
            steps.into_iter().enumerate().all(|(value, (key, insert))| {
                if insert {
                    table.insert(key, value);
                    tree.insert(key, value);
                } else {
                    assert_eq!(table.remove(&key), tree.remove(&key));
                }
                table.get(&key) == tree.get(&key)
                    && table.contains(&key) == tree.contains_key(&key)
                    && table.len() == tree.len()
                    && table.first() == tree.first_key_value()
                    && table.iter().eq(tree.iter())
            })
        }
    }
}
