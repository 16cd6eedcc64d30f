//! Which characters of a text from outside may be shown in a page, a terminal or a log.

/// Control characters, line separators, and those that change the direction of the text around them (Unicode Standard Annex 9).
#[must_use]
pub fn is_unprintable(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Whether a text, called `what` in errors, is one line of 1 to `chars_max` characters, at least one of them visible, without control characters
/// (a database may refuse them, and a terminal may obey them), and without those that change the direction of the text around it.
///
/// # Errors
/// What is wrong with it.
pub fn check_printable(what: &str, text: &str, chars_max: usize) -> Result<(), String> {
    if text.chars().all(|char| char.is_whitespace() || is_invisible(char)) {
        Err(format!("{} is required: expected 1 to {chars_max} characters, one of them visible", capitalized(what)))
    } else if text.chars().count() > chars_max {
        Err(format!("the {what} is longer than {chars_max} characters"))
    } else if text.chars().any(|char| char.is_control() || matches!(char, '\u{2028}' | '\u{2029}')) {
        Err(format!("the {what} holds a control character, or more than one line"))
    } else if text.chars().any(is_unprintable) {
        Err(format!("the {what} holds a character that changes the direction of text"))
    } else {
        Ok(())
    }
}

fn capitalized(word: &str) -> String {
    let mut rest = word.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// Characters that show nothing: a name of nothing else looks empty. Those that Unicode lets programs ignore (Default_Ignorable_Code_Point), marks of
/// annotations, and the empty pattern of Braille. Joiners among them are allowed inside a name, in emoji for example.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || is_unprintable(char)
}
