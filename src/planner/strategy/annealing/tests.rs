//! Over small workloads, beside searches that do without.

use super::*;
