//! The parts of a picture: marks make a shape, shapes at their positions make a scene. Does not know how any of it is
//! written.

use crate::palette::{Ink, Palette};

/// A stroke of the pen, in the coordinates of its shape.
pub(crate) enum Mark {
    /// A filled outline, as path data.
    Fill(Ink, &'static str),
    /// A line of this width with round ends, as path data.
    Line(Ink, f32, &'static str),
    /// A disc: centre and radius.
    Disc(Ink, f32, f32, f32),
    /// An ellipse: centre and radii.
    Oval(Ink, f32, f32, f32, f32),
    /// A rectangle: corner, width, height, and the radius of its corners.
    Box(Ink, f32, f32, f32, f32, f32),
    /// Light around something: centre and radius.
    Halo(Ink, f32, f32, f32),
    /// A filled outline that lets shine through what is behind it.
    Veil(Ink, &'static str),
}

/// A shape of the vocabulary.
pub(crate) type Shape = &'static [Mark];

/// A shape at its place.
pub(crate) struct Part {
    pub(crate) shape: Shape,
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) scale: f32,
    /// Degrees, clockwise.
    pub(crate) turn: f32,
    pub(crate) is_mirrored: bool,
}

/// One picture.
pub(crate) struct Scene {
    pub(crate) title: &'static str,
    pub(crate) palette: &'static Palette,
    /// From the back to the front.
    pub(crate) parts: &'static [Part],
}

/// A shape at a place, in a size.
pub(crate) const fn placed(shape: Shape, x: f32, y: f32, scale: f32) -> Part {
    Part { shape, x, y, scale, turn: 0.0, is_mirrored: false }
}

/// A shape whose coordinates are the picture's own.
pub(crate) const fn full_size(shape: Shape) -> Part {
    placed(shape, 0.0, 0.0, 1.0)
}

impl Part {
    /// The same, turned by so many degrees.
    pub(crate) const fn turned(self, turn: f32) -> Self {
        Self { turn, ..self }
    }

    /// The same, seen in a mirror.
    pub(crate) const fn mirrored(self) -> Self {
        Self { is_mirrored: true, ..self }
    }
}
