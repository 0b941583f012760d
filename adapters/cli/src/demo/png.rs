//! Writes PNG images of two colours. Nothing is compressed: at one bit per pixel they are small enough.

/// A colour: red, green, blue.
pub(super) type Color = [u8; 3];

/// The image in which `is_foreground` says for each column and row which of the two colours it has.
pub(super) fn encode(
    width: u32,
    height: u32,
    [background, foreground]: [Color; 2],
    is_foreground: impl Fn(u32, u32) -> bool,
) -> Vec<u8> {
    let mut pixels = Vec::new();
    for row in 0..height {
        // Each row begins with the number of its filter: none.
        pixels.push(0);
        for start in (0..width).step_by(8) {
            let bit = |at: u32| u8::from(start + at < width && is_foreground(start + at, row)) << (7 - at);
            pixels.push((0..8).map(bit).sum());
        }
    }

    let mut image = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    // One bit per pixel, which is an index into a palette; the rest is zero because there is only one way.
    header.extend([1, 3, 0, 0, 0]);
    chunk(&mut image, b"IHDR", &header);
    chunk(&mut image, b"PLTE", &[background, foreground].concat());
    chunk(&mut image, b"IDAT", &zlib_stored(&pixels));
    chunk(&mut image, b"IEND", &[]);
    image
}

fn chunk(image: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    image.extend((data.len() as u32).to_be_bytes());
    let start = image.len();
    image.extend(kind);
    image.extend(data);
    let checksum = crc32(&image[start..]);
    image.extend(checksum.to_be_bytes());
}

/// A zlib stream whose blocks are stored as they are.
fn zlib_stored(data: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = data.chunks(usize::from(u16::MAX)).peekable();
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
    }
    stream.extend(adler32(data).to_be_bytes());
    stream
}

fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |checksum, byte| {
        (0..8).fold(checksum ^ u32::from(*byte), |checksum, _| {
            (checksum >> 1) ^ if checksum & 1 == 1 { 0xEDB8_8320 } else { 0 }
        })
    })
}

fn adler32(data: &[u8]) -> u32 {
    let (low, high) = data.iter().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_the_known_ones() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(adler32(b"Wikipedia"), 0x11E6_0398);
    }

    #[test]
    fn an_image_has_its_parts() {
        let image = encode(10, 2, [[255; 3], [0; 3]], |column, row| column == row || column == 9);
        assert!(image.starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x0a\0\0\0\x02\x01\x03\0\0\0"));
        assert!(image.ends_with(b"\0\0\0\0IEND\xae\x42\x60\x82"));
        let rows = [0, 0b1000_0000, 0b0100_0000, 0, 0b0100_0000, 0b0100_0000];
        assert!(image.windows(rows.len()).any(|window| window == rows));
    }

    #[test]
    fn long_data_is_stored_in_several_blocks() {
        let stream = zlib_stored(&[7; 70_000]);
        assert_eq!(stream.len(), 2 + 5 + 65_535 + 5 + 4_465 + 4);
        assert_eq!((stream[2], stream[2 + 5 + 65_535]), (0, 1));
    }
}
