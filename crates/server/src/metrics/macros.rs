//! How a table of figures is made: the fields, and how the page lists them. A figure that is not in a table does not exist.

/// Defines a table of figures.
macro_rules! metrics {
    ($vis:vis $table:ident; $($field:ident: $kind:ident = $name:literal, $help:literal;)*) => {
        /// A table of figures; each may be recorded from anywhere, at any rate.
        #[derive(Debug, Default)]
        $vis struct $table {
            $(#[doc = $help] $vis $field: $kind,)*
        }

        impl $table {
            pub(super) fn expose(&self, page: &mut Page) {
                $(self.$field.expose(page, $name, $help);)*
            }
        }
    };
}

pub(super) use metrics;
