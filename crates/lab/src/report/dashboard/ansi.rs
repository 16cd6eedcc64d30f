//! A buffer of cells as lines of text, with the escape sequences of ECMA-48 for colour and bold. Does not move the
//! cursor.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use ratatui::text::Span;

/// Resets all attributes.
const RESET: &str = "\x1b[0m";

/// The lines of a buffer, without trailing blanks; each ends as it began, without colour.
pub(super) fn lines(buffer: &Buffer, colour: bool) -> Vec<String> {
    let width = usize::from(buffer.area.width).max(1);
    buffer.content.chunks(width).map(|row| line(row, colour)).collect()
}

fn line(row: &[Cell], colour: bool) -> String {
    let mut text = String::new();
    let mut style = String::new();
    let end = row.iter().rposition(|cell| !cell.symbol().trim().is_empty()).map_or(0, |last| last + 1);
    let mut column = 0;
    while column < end {
        let cell = &row[column];
        let wanted = sequence(cell, colour);
        if wanted != style {
            text.push_str(if style.is_empty() { "" } else { RESET });
            text.push_str(&wanted);
            style = wanted;
        }
        text.push_str(cell.symbol());
        // A wide character also covers the cells to its right.
        column += Span::raw(cell.symbol()).width().max(1);
    }
    text.push_str(if style.is_empty() { "" } else { RESET });
    text
}

/// What to send before a cell; nothing for a plain one.
fn sequence(cell: &Cell, colour: bool) -> String {
    let bold = cell.modifier.contains(Modifier::BOLD).then_some(1);
    let dim = cell.modifier.contains(Modifier::DIM).then_some(2);
    let foreground = code(cell.fg).filter(|_| colour);
    let codes: Vec<String> = [bold, dim, foreground].into_iter().flatten().map(|code| code.to_string()).collect();
    if codes.is_empty() { String::new() } else { format!("\x1b[{}m", codes.join(";")) }
}

/// The colours that every terminal lets its user choose; no others are used.
fn code(colour: Color) -> Option<u8> {
    match colour {
        Color::Red => Some(31),
        Color::Green => Some(32),
        Color::Yellow => Some(33),
        Color::Blue => Some(34),
        Color::Cyan => Some(36),
        Color::DarkGray => Some(90),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    #[track_caller]
    fn check(style: Style, colour: bool, expected: &str) {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
        buffer.set_string(0, 0, "a ", Style::new());
        buffer.set_string(2, 0, "日b", style);
        assert_eq!(lines(&buffer, colour), [expected]);
    }

    #[test]
    fn styles_begin_and_end_within_a_line() {
        check(Style::new(), true, "a 日b");
        check(Style::new().fg(Color::Red), true, "a \x1b[31m日b\x1b[0m");
        check(Style::new().fg(Color::Red), false, "a 日b");
        check(Style::new().fg(Color::Red).add_modifier(Modifier::BOLD), false, "a \x1b[1m日b\x1b[0m");
    }
}
