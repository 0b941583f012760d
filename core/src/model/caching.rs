//! Who may keep a result.

open_enum! {
    /// Who may share a cached result (2026-07-28). Anything but `Public` is to be treated as private.
    pub enum CacheScope {
        /// Anyone, whatever token they came with.
        Public = "public",
        /// Only requests under the same authorization.
        Private = "private",
    }
}
