//! Following a listing from page to page.

use alloc::collections::BTreeSet;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

use super::{CallOptions, ClientConfig};
use crate::error::CallError;
use crate::jsonrpc::code;
use crate::model::Era;
use crate::observer::{Observation, Observed};
use crate::time::Instant;

/// What all pages of one listing together may cost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PageLimits {
    /// [`Limits::pages`](crate::Limits::pages).
    pub pages: usize,
    /// [`Limits::listing_bytes`](crate::Limits::listing_bytes).
    pub bytes: usize,
    /// [`ClientConfig::total_timeout`]: a listing is one call to the program, however many requests it takes.
    pub total_timeout: Duration,
    /// Who is told that there was too much.
    observer: Observed,
}

impl PageLimits {
    /// As a client is configured.
    pub fn of(config: &ClientConfig) -> Self {
        let limits = &config.limits;
        let (total_timeout, observer) = (config.total_timeout, config.observer.clone());
        Self { pages: limits.pages, bytes: limits.listing_bytes, total_timeout, observer }
    }
}

/// Leads through the pages of a listing, and stops when the server leads in circles, says too much or takes too long.
///
/// ```
/// use windlass::Instant;
/// use windlass::client::{CallOptions, ClientConfig, PageError, PageLimits, Pages};
/// use windlass::model::{Era, Implementation};
///
/// let config = ClientConfig::new(Implementation::new("my-editor", "1.0.0"));
/// let mut pages = Pages::new(PageLimits::of(&config), Era::Modern, CallOptions::new(), Instant::ZERO);
/// let first_page = pages.options(Instant::ZERO)?;
/// assert_eq!(first_page.total_timeout, Some(config.total_timeout));
/// assert_eq!(pages.next(4000, Some("b".into())), Ok(Some("b".into())));
/// assert_eq!(pages.next(4000, Some("b".into())), Err(PageError::RepeatedCursor));
/// assert_eq!(pages.next(4000, None), Ok(None));
/// # Ok::<(), PageError>(())
/// ```
#[derive(Debug)]
pub struct Pages {
    options: CallOptions,
    limits: PageLimits,
    era: Era,
    started: Instant,
    left: usize,
    bytes_left: usize,
    seen: BTreeSet<String>,
    restarted: bool,
}

/// Why a listing was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageError {
    /// The server gave a cursor that it had given before.
    RepeatedCursor,
    /// There are more pages than allowed.
    TooManyPages,
    /// The pages are longer than allowed, together.
    TooManyBytes,
    /// The pages that came took all the time that there was, and there are more.
    TimedOut {
        /// The total time-out of the listing.
        after: Duration,
    },
}

impl Pages {
    /// Leads through the pages of a listing that begins now, of a server of this era, each asked for with these options.
    pub fn new(limits: PageLimits, era: Era, options: CallOptions, now: Instant) -> Self {
        let total_timeout = options.total_timeout.unwrap_or(limits.total_timeout);
        let limits = PageLimits { total_timeout, ..limits };
        let (left, bytes_left) = (limits.pages, limits.bytes);
        Self { options, limits, era, started: now, left, bytes_left, seen: BTreeSet::new(), restarted: false }
    }

    /// How to ask for the next page: it may take what is left of the time for all of them.
    pub fn options(&self, now: Instant) -> Result<CallOptions, PageError> {
        let mut options = self.options.clone();
        let total = self.limits.total_timeout;
        if !total.is_zero() {
            let left = total.saturating_sub(now.since(self.started));
            if left.is_zero() {
                return Err(PageError::TimedOut { after: total });
            }
            options.total_timeout = Some(left);
        }
        Ok(options)
    }

    /// A page was not to be had. Returns whether to begin once more with the first, and to forget what came: the server does
    /// not know its own cursor any more, as after a change or a restart. The pages so far count, and so does their time.
    pub fn restarts_after(&mut self, error: &CallError) -> bool {
        let invalid = matches!(error, CallError::Remote(error) if error.code == code::INVALID_PARAMS);
        let restarts = invalid && !self.seen.is_empty() && !self.restarted;
        if restarts {
            self.restarted = true;
            self.seen.clear();
        }
        restarts
    }

    /// A page of so many bytes has come with this `nextCursor`: the cursor to ask for next, or `None` at the end. In
    /// the modern era an empty string is a cursor like any other; in the legacy era, which does not say, servers mean the
    /// end by it.
    pub fn next(&mut self, bytes: usize, next_cursor: Option<String>) -> Result<Option<String>, PageError> {
        let Some(bytes_left) = self.bytes_left.checked_sub(bytes) else {
            self.limits.observer.tell(|| Observation::LimitHit { limit: "listing_bytes" });
            return Err(PageError::TooManyBytes);
        };
        self.bytes_left = bytes_left;
        let is_cursor = |cursor: &String| self.era == Era::Modern || !cursor.is_empty();
        let Some(cursor) = next_cursor.filter(is_cursor) else { return Ok(None) };
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.limits.observer.tell(|| Observation::LimitHit { limit: "pages" });
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
            Self::TooManyBytes => {
                "the server's pages are longer than allowed, together; raise `Limits::listing_bytes`, or list page by page"
            }
            Self::TimedOut { after } => {
                return write!(
                    f,
                    "the server has more pages than it gave within {after:?}; raise the listing's total time-out, or list page by page"
                );
            }
        })
    }
}

impl core::error::Error for PageError {}
