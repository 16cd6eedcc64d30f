//! The worlds of whole processes, with real writer threads, on a store in memory that can be held back.
