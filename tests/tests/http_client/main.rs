//! The HTTP client, byte by byte, against servers of both eras and against no servers at all.
//!
//! Expected transcripts are in the files beside this one. `UPDATE_TRANSCRIPTS=1 cargo test` rewrites them; read the
//! difference before keeping it.

mod changing_eras;
mod chunking;
mod connections;
mod credentials;
mod endless;
mod eras;
mod failing;
mod handshakes;
mod late;
mod legacy;
mod listening;
mod modern;
mod monkey;
mod one_shot;
mod redirects;
mod resumed;
mod seam;
mod talk;
mod tools;
