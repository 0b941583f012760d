//! Bytes in base64: pictures, sound, binary resources.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::{AudioContent, BlobResourceContents, ContentBlock, ImageContent, ResourceContents};

/// Written with padding, as the specification's examples are; read with or without, as peers differ.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A text is no base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidBase64(String);

impl fmt::Display for InvalidBase64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the data is no base64: {}", self.0)
    }
}

impl core::error::Error for InvalidBase64 {}

fn decode(text: &str) -> Result<Vec<u8>, InvalidBase64> {
    ENGINE.decode(text).map_err(|error| InvalidBase64(error.to_string()))
}

impl ImageContent {
    /// A picture by its bytes.
    ///
    /// ```
    /// use windlass::model::ImageContent;
    ///
    /// let picture = ImageContent::from_bytes(b"\x89PNG", "image/png");
    /// assert_eq!(picture.data, "iVBORw==");
    /// assert_eq!(picture.bytes()?, b"\x89PNG");
    /// # Ok::<(), windlass::model::InvalidBase64>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::new(ENGINE.encode(bytes), mime_type)
    }

    /// The bytes.
    ///
    /// # Errors
    ///
    /// When what the peer sent is no base64.
    pub fn bytes(&self) -> Result<Vec<u8>, InvalidBase64> {
        decode(&self.data)
    }
}

impl AudioContent {
    /// Sound by its bytes.
    pub fn from_bytes(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::new(ENGINE.encode(bytes), mime_type)
    }

    /// The bytes.
    ///
    /// # Errors
    ///
    /// When what the peer sent is no base64.
    pub fn bytes(&self) -> Result<Vec<u8>, InvalidBase64> {
        decode(&self.data)
    }
}

impl BlobResourceContents {
    /// The resource at `uri` by its bytes.
    pub fn from_bytes(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self::new(uri, ENGINE.encode(bytes))
    }

    /// The bytes.
    ///
    /// # Errors
    ///
    /// When what the peer sent is no base64.
    pub fn bytes(&self) -> Result<Vec<u8>, InvalidBase64> {
        decode(&self.blob)
    }
}

impl ContentBlock {
    /// A picture by its bytes.
    pub fn image_bytes(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent::from_bytes(bytes, mime_type))
    }

    /// Sound by its bytes.
    pub fn audio_bytes(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent::from_bytes(bytes, mime_type))
    }
}

impl ResourceContents {
    /// Binary contents by their bytes.
    pub fn blob_bytes(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self::Blob(BlobResourceContents::from_bytes(uri, bytes))
    }

    /// The bytes, of text and of binary contents.
    ///
    /// # Errors
    ///
    /// When what the peer sent is no base64, or contents of another kind.
    pub fn bytes(&self) -> Result<Vec<u8>, InvalidBase64> {
        match self {
            Self::Text(contents) => Ok(contents.text.as_bytes().to_vec()),
            Self::Blob(contents) => contents.bytes(),
            Self::Other(_) => Err(InvalidBase64("there is none".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_whatever_their_number() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in 0..bytes.len() {
            let bytes = &bytes[..length];
            assert_eq!(ImageContent::from_bytes(bytes, "a/b").bytes().unwrap(), bytes);
            assert_eq!(AudioContent::from_bytes(bytes, "a/b").bytes().unwrap(), bytes);
            assert_eq!(ResourceContents::blob_bytes("a:b", bytes).bytes().unwrap(), bytes);
        }
    }

    #[test]
    fn padding_may_be_missing_and_nothing_else() {
        assert_eq!(ImageContent::new("AAE", "a/b").bytes().unwrap(), [0, 1]);
        for text in ["A", "AA-_", "AA A", "AAE=="] {
            assert!(ImageContent::new(text, "a/b").bytes().is_err(), "{text}");
        }
    }
}
