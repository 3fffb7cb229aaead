//! Exact integer samplers, generic over the random source.
