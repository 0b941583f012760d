//! Clients of both eras against one server over HTTP, in the simulation: whatever breaks, every call ends once, with its
//! own answer or an error, and nothing is left.

mod authorized;
mod conditions;
mod faults;
mod limits;
mod protected;
mod town;
