//! The macro that defines a table of metrics: the fields, and their listing on the page. A metric that is in no table does not exist.

/// Defines a table of metrics.
macro_rules! metrics {
    ($vis:vis $table:ident; $($field:ident: $kind:ident = $name:literal, $help:literal;)*) => {
        /// A table of metrics; each may be recorded from anywhere, at any rate.
        #[derive(Debug, Default)]
        $vis struct $table {
            $(#[doc = $help] $vis $field: $kind,)*
        }

        impl $table {
            pub(crate) fn expose(&self, page: &mut Page) {
                $(self.$field.expose(page, $name, $help);)*
            }
        }
    };
}

pub(crate) use metrics;
