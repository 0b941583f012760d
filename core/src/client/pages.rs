//! Following a listing from page to page.

use alloc::collections::BTreeSet;
use alloc::string::String;
use core::fmt;

/// Leads through the pages of a listing, and stops when the server leads in circles.
///
/// ```
/// use windlass::client::{Pages, PageError};
///
/// let mut pages = Pages::new(100);
/// assert_eq!(pages.next(Some("b".into())), Ok(Some("b".into())));
/// assert_eq!(pages.next(Some("b".into())), Err(PageError::RepeatedCursor));
/// assert_eq!(pages.next(None), Ok(None));
/// ```
#[derive(Debug)]
pub struct Pages {
    left: usize,
    seen: BTreeSet<String>,
}

/// Why a listing was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageError {
    /// The server gave a cursor that it had given before.
    RepeatedCursor,
    /// There are more pages than allowed.
    TooManyPages,
}

impl Pages {
    /// Leads through at most `most` pages.
    pub fn new(most: usize) -> Self {
        Self { left: most, seen: BTreeSet::new() }
    }

    /// A page has come with this `nextCursor`: the cursor to ask for next, or `None` at the end. An empty string is
    /// a cursor like any other.
    pub fn next(&mut self, next_cursor: Option<String>) -> Result<Option<String>, PageError> {
        let Some(cursor) = next_cursor else { return Ok(None) };
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return Err(PageError::TooManyPages);
        }
        if self.seen.insert(cursor.clone()) { Ok(Some(cursor)) } else { Err(PageError::RepeatedCursor) }
    }
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RepeatedCursor => "the server leads through its pages in circles: it gave the same cursor twice",
            Self::TooManyPages => "the server has more pages than allowed; raise `Limits::pages`, or list page by page",
        })
    }
}

impl core::error::Error for PageError {}
