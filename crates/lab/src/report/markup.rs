//! Markup for HTML and SVG. Only names from our own source become tags and attributes; every other text is escaped on
//! its way in, so that nothing that a service sent can become markup. Does not know what the tags mean.

use crate::format::sanitize;

#[derive(Clone, Debug, Default)]
pub(super) struct Markup(String);

pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Markup {
    /// Appends markup of our own source, unescaped.
    pub(super) fn raw(&mut self, markup: &'static str) {
        self.0.push_str(markup);
    }

    /// Appends a text, escaped.
    pub(super) fn text(&mut self, text: &str) {
        escape(&clean_lines(text), &mut self.0);
    }

    /// Appends an element whose content `inside` appends.
    pub(super) fn element(&mut self, tag: &'static str, attributes: Attributes<'_>, inside: impl FnOnce(&mut Self)) {
        self.open(tag, attributes);
        self.0.push('>');
        inside(self);
        for part in ["</", tag, ">"] {
            self.0.push_str(part);
        }
    }

    /// Appends an element that contains only a text.
    pub(super) fn text_element(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) {
        self.element(tag, attributes, |markup| markup.text(text));
    }

    /// Appends an element without content, as in SVG and the void elements of HTML.
    pub(super) fn void_element(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.open(tag, attributes);
        self.0.push_str("/>");
    }

    pub(super) fn append(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }

    /// Breaks the line, for readers of the source.
    pub(super) fn newline(&mut self) {
        self.0.push('\n');
    }

    fn open(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            for part in [" ", name, "=\""] {
                self.0.push_str(part);
            }
            escape(&clean_lines(value), &mut self.0);
            self.0.push('"');
        }
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// Tooltips have several lines; all other control characters are removed.
fn clean_lines(text: &str) -> String {
    text.split('\n').map(clean_line).collect::<Vec<_>>().join("\n")
}

/// Blanks at the ends belong to the sentence around an element.
fn clean_line(line: &str) -> String {
    let (head, tail) = (line.starts_with(' '), line.ends_with(' ') && !line.trim().is_empty());
    format!("{}{}{}", if head { " " } else { "" }, sanitize(line), if tail { " " } else { "" })
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_becomes_markup() {
        let mut markup = Markup::default();
        markup.element("p", &[("title", "\"><script>'&")], |markup| {
            markup.text("</p><script>alert(\"1\")</script>\x1b[2J & 'so on'");
            markup.void_element("br", &[]);
        });
        let expected = "<p title=\"&quot;&gt;&lt;script&gt;&#39;&amp;\">&lt;/p&gt;&lt;script&gt;alert(&quot;1&quot;)\
                        &lt;/script&gt;\u{fffd}[2J &amp; &#39;so on&#39;<br/></p>";
        assert_eq!(markup.into_string(), expected);
    }

    #[test]
    fn lines_and_outer_blanks_stay() {
        let mut markup = Markup::default();
        markup.text("one\n two ");
        assert_eq!(markup.into_string(), "one\n two ");
    }
}
