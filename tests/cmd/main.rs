//! The `margins` command as people use it: whole sessions compared with golden files, and what must hold when
//! something goes wrong.
mod crash;
mod papers;
mod pipes;
mod places;
mod session;
mod terminal;
