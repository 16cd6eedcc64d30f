//! Scenes as SVG. Nothing in a document comes from outside, so nothing in it needs to be escaped. Does not know which
//! scenes there are.

use std::fmt::Write as _;

use crate::palette::{Ink, Palette, colour};
use crate::scene::{Mark, Part, Scene};

/// Units of a picture's width.
pub const WIDTH: u16 = 300;

/// Units of a picture's height.
pub const HEIGHT: u16 = 420;

/// Radius of a card's corners.
const CORNER: u16 = 18;

/// Opacity of what shines.
const HALO: f32 = 0.18;

/// Opacity of what is seen through.
const VEIL: f32 = 0.35;

/// The document of a scene. Names inside it carry the card's number, so that several may stand in one page.
pub(crate) fn document(card: u8, scene: &Scene) -> String {
    let mut out = String::new();
    let (sky, haze) = (colour(scene.palette, Ink::Sky), colour(scene.palette, Ink::Haze));
    // Writing to a string never fails.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-labelledby=\"t{card}\"><title id=\"t{card}\">{}</title><defs><linearGradient id=\"s{card}\" x2=\"0\" \
         y2=\"1\"><stop stop-color=\"{sky}\"/><stop offset=\".85\" stop-color=\"{haze}\"/></linearGradient><clipPath \
         id=\"c{card}\"><rect width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"{CORNER}\"/></clipPath></defs><g \
         clip-path=\"url(#c{card})\" stroke-linecap=\"round\" stroke-linejoin=\"round\"><rect width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" fill=\"url(#s{card})\"/>",
        scene.title
    );
    scene.parts.iter().for_each(|part| write_part(part, scene.palette, &mut out));
    let light = colour(scene.palette, Ink::Light);
    let _ = write!(
        out,
        "</g><rect x=\"7\" y=\"7\" width=\"{}\" height=\"{}\" rx=\"{}\" fill=\"none\" stroke=\"{light}\" \
         stroke-opacity=\".55\" stroke-width=\"2\"/></svg>",
        WIDTH - 14,
        HEIGHT - 14,
        CORNER - 6
    );
    out
}

fn write_part(part: &Part, palette: &Palette, out: &mut String) {
    let Part { x, y, scale, turn, .. } = part;
    out.push_str("<g");
    if (*x, *y, *scale, *turn, part.is_mirrored) != (0.0, 0.0, 1.0, 0.0, false) {
        let _ = write!(out, " transform=\"translate({x} {y})");
        if *turn != 0.0 {
            let _ = write!(out, " rotate({turn})");
        }
        match (part.is_mirrored, *scale) {
            (true, scale) => drop(write!(out, " scale({} {scale})", -scale)),
            (false, 1.0) => {}
            (false, scale) => drop(write!(out, " scale({scale})")),
        }
        out.push('"');
    }
    out.push('>');
    part.shape.iter().for_each(|mark| write_mark(mark, palette, out));
    out.push_str("</g>");
}

fn write_mark(mark: &Mark, palette: &Palette, out: &mut String) {
    let of = |ink: &Ink| colour(palette, *ink);
    let _ = match mark {
        Mark::Fill(ink, d) => write!(out, "<path fill=\"{}\" d=\"{d}\"/>", of(ink)),
        Mark::Line(ink, width, d) => {
            write!(out, "<path fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" d=\"{d}\"/>", of(ink))
        }
        Mark::Disc(ink, x, y, r) => write!(out, "<circle fill=\"{}\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\"/>", of(ink)),
        Mark::Oval(ink, x, y, rx, ry) => {
            write!(out, "<ellipse fill=\"{}\" cx=\"{x}\" cy=\"{y}\" rx=\"{rx}\" ry=\"{ry}\"/>", of(ink))
        }
        Mark::Box(ink, x, y, width, height, r) => write!(
            out,
            "<rect fill=\"{}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{r}\"/>",
            of(ink)
        ),
        Mark::Halo(ink, x, y, r) => {
            write!(out, "<circle fill=\"{}\" fill-opacity=\"{HALO}\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\"/>", of(ink))
        }
        Mark::Veil(ink, d) => write!(out, "<path fill=\"{}\" fill-opacity=\"{VEIL}\" d=\"{d}\"/>", of(ink)),
    };
}
