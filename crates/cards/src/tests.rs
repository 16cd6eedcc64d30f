//! What every picture must be: well-formed, small, its own, and alone: without scripts and without anything from outside.

mod sentences;

use std::collections::BTreeSet;

use crate::{PICTURES, svg, title};

/// A card is loaded with a dozen others on a slow line.
const BYTES_MAX: usize = 8 * 1024;

fn all() -> impl Iterator<Item = (u8, &'static str)> {
    (1..).zip(PICTURES)
}

/// As much of XML as the pictures use: tags that nest, attributes in double quotes, and text.
fn well_formed(text: &str) -> Result<(), String> {
    let (mut open, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find('<') {
        if rest[..at].contains(['&', '>']) {
            return Err(format!("text that must be escaped: {}", &rest[..at]));
        }
        let end = rest[at..].find('>').ok_or("a tag without an end")? + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> closes something else"));
            }
            continue;
        }
        let (tag, is_closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        check_attributes(attributes)?;
        if !is_closed {
            open.push(name);
        }
    }
    if open.is_empty() && rest.trim().is_empty() { Ok(()) } else { Err(format!("not closed: {open:?}, {rest}")) }
}

fn check_attributes(mut rest: &str) -> Result<(), String> {
    let mut names = BTreeSet::new();
    while !rest.is_empty() {
        let (name, value) = rest.split_once("=\"").ok_or_else(|| format!("no attribute: {rest}"))?;
        let (value, after) = value.split_once('"').ok_or_else(|| format!("a value without an end: {rest}"))?;
        if !names.insert(name.trim()) || value.contains(['<', '&']) {
            return Err(format!("{name}=\"{value}\""));
        }
        rest = after.trim_start();
    }
    Ok(())
}

#[test]
fn the_reader_of_xml_refuses_what_is_none() {
    for text in ["<a>", "<a></b>", "<a b=\"1\" b=\"2\"/>", "<a b=1/>", "<a>&</a>", "<a/>x>", "<a b=\"<\"/>"] {
        assert!(well_formed(text).is_err(), "{text}");
    }
    assert_eq!(well_formed("<a b=\"1\"><c/>text</a>"), Ok(()));
}

#[test]
fn every_picture_is_whole_and_small() {
    for (card, picture) in all() {
        assert_eq!(well_formed(picture), Ok(()), "card {card}");
        assert!(picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "card {card}");
        assert!(picture.len() <= BYTES_MAX, "card {card} has {} bytes", picture.len());
    }
}

#[test]
fn nothing_runs_and_nothing_comes_from_outside() {
    for (card, picture) in all() {
        let inside = picture.replace("xmlns=\"http://www.w3.org/2000/svg\"", "").to_lowercase();
        for word in ["script", "http", "href", "://", "data:", "<image", "<use", "<foreign", "style", "@import", " on"]
        {
            assert!(
                !inside.replace(title(card).unwrap().to_lowercase().as_str(), "").contains(word),
                "{word} in {card}"
            );
        }
        let own = format!("url(#c{card})");
        let references: Vec<&str> = inside.match_indices("url(").map(|(at, _)| &inside[at..at + own.len()]).collect();
        assert_eq!(references, [own.as_str(), format!("url(#s{card})").as_str()]);
    }
}

#[test]
fn no_two_pictures_and_no_two_titles_are_alike() {
    let number = |card: u8, text: &str| text.replace(&format!("\"t{card}\""), "").replace(title(card).unwrap(), "");
    let inside = |(card, picture): (u8, &str)| {
        number(card, picture).split_once("</defs>").map(|(_, drawn)| drawn.replace(&format!("#c{card}"), "")).unwrap()
    };
    assert_eq!(all().map(inside).collect::<BTreeSet<_>>().len(), PICTURES.len());
    assert_eq!(all().filter_map(|(card, _)| title(card)).collect::<BTreeSet<_>>().len(), PICTURES.len());
}

#[test]
fn the_deck_ends_at_its_count() {
    assert_eq!((svg(0), svg(44), svg(u8::MAX)), (None, None, None));
    assert!(svg(1).is_some() && svg(43).is_some());
}

#[test]
fn a_title_is_read_out() {
    for (card, picture) in all() {
        let title = title(card).unwrap();
        assert!(picture.contains(&format!("aria-labelledby=\"t{card}\"><title id=\"t{card}\">{title}</title>")));
        assert!((15..=80).contains(&title.len()), "{title}");
    }
}
