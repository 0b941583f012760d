//! Finding the bytes of a string that are not simply text: quotes, backslashes, control characters.

/// Whether `byte` cannot stand in a JSON string as it is.
fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Where the first byte is that cannot stand in a JSON string as it is.
#[inline(always)]
pub(super) fn first_special(bytes: &[u8]) -> Option<usize> {
    // Most strings are names, and most names are short.
    match bytes.len() {
        0..8 => of_few(bytes),
        8..=16 => of_both_ends(bytes, bytes.first_chunk()?, bytes.last_chunk()?),
        _ => of_many(bytes),
    }
}

/// [`first_special`] of less than eight bytes.
fn of_few(bytes: &[u8]) -> Option<usize> {
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            let mut eight = [0; 8];
            eight[..4].copy_from_slice(first);
            eight[4..].copy_from_slice(last);
            of_eight(eight).map(|at| if at < 4 { at } else { bytes.len() + at - 8 })
        }
        _ => bytes.iter().position(|&byte| is_special(byte)),
    }
}

/// [`first_special`] of eight to sixteen bytes: of those at both ends, which may overlap.
fn of_both_ends(bytes: &[u8], first: &[u8; 8], last: &[u8; 8]) -> Option<usize> {
    of_eight(*first).or_else(|| of_eight(*last).map(|at| bytes.len() - 8 + at))
}

/// [`first_special`] of more than sixteen bytes.
fn of_many(bytes: &[u8]) -> Option<usize> {
    let mut passed = 0;
    while bytes[passed..].first_chunk::<64>().is_some_and(has_none) {
        passed += 64;
    }
    while bytes[passed..].first_chunk::<16>().is_some_and(has_none) {
        passed += 16;
    }
    match bytes[passed..].first_chunk::<16>().or(bytes.last_chunk()) {
        _ if passed == bytes.len() => None,
        // What is before the last sixteen is looked at once more, where nothing was found.
        Some(sixteen) => {
            let start = passed.min(bytes.len() - 16);
            of_eight(*sixteen.first_chunk()?)
                .or_else(|| of_eight(*sixteen.last_chunk()?).map(|at| 8 + at))
                .map(|at| start + at)
        }
        None => None,
    }
}

/// Whether there is none in a block. Without a branch inside, the compiler turns this into a few vector instructions.
#[inline(always)]
fn has_none<const N: usize>(block: &[u8; N]) -> bool {
    !block.iter().fold(false, |found, &byte| found | is_special(byte))
}

/// [`first_special`] of the first eight bytes, if there are so many.
#[inline(always)]
pub(super) fn first_special_of_eight(bytes: &[u8]) -> Option<usize> {
    of_eight(*bytes.first_chunk()?)
}

/// [`first_special`] of eight bytes, all at once: subtracting makes a byte borrow from its high bit exactly if it is below
/// what is subtracted. A borrow may spoil the bytes behind the first one found, never one before it.
#[inline(always)]
fn of_eight(eight: [u8; 8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(eight);
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
    let quotes = word ^ (ONES * b'"' as u64);
    let backslashes = word ^ (ONES * b'\\' as u64);
    let found = (below(word, 0x20) | below(quotes, 1) | below(backslashes, 1)) & (ONES * 0x80);
    if found == 0 { None } else { Some(found.trailing_zeros() as usize / 8) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use quickcheck::quickcheck;

    #[test]
    fn every_byte_at_every_place() {
        for length in (1..=34).chain([40, 47, 48, 49, 63, 64, 65, 79, 80, 81, 100, 127, 128, 129]) {
            for at in 0..length {
                for byte in 0..=u8::MAX {
                    let mut bytes = alloc::vec![0x80; length];
                    bytes[at] = byte;
                    assert_eq!(first_special(&bytes), is_special(byte).then_some(at), "{byte:#x} at {at} of {length}");
                }
            }
        }
    }

    quickcheck! {
        fn the_first_is_found(bytes: Vec<u8>) -> bool {
            first_special(&bytes) == bytes.iter().position(|&byte| is_special(byte))
        }
    }
}
