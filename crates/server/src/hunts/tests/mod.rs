//! Tests of what is around the hunt.
