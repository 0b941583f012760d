//! Where bytes are cut on their way.

/// The pieces of `bytes` as three networks would deliver them: at once, one by one, and cut at places that `choice` picks.
pub fn deliveries(bytes: &[u8], choice: u8) -> [Vec<&[u8]>; 3] {
    [vec![bytes], bytes.chunks(1).collect(), cut(bytes, choice)]
}

fn cut(mut bytes: &[u8], choice: u8) -> Vec<&[u8]> {
    let mut state = u32::from(choice) | 0x100;
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        // Any sequence will do that is the same each time.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let length = (state >> 16) as usize % 24;
        let (piece, rest) = bytes.split_at(length.min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}
