//! What stands in the sky.

use crate::palette::Ink::{Cool, Dark, Far, Glow, Haze, Light, Mid, Warm};
use crate::scene::Mark::{Disc, Fill, Halo, Line, Oval, Veil};
use crate::scene::Shape;

pub(crate) const SUN: Shape = &[Halo(Glow, 0.0, 0.0, 62.0), Halo(Glow, 0.0, 0.0, 48.0), Disc(Glow, 0.0, 0.0, 34.0)];

pub(crate) const MOON: Shape = &[
    Halo(Light, 0.0, 0.0, 50.0),
    Disc(Light, 0.0, 0.0, 34.0),
    Disc(Haze, -10.0, -8.0, 7.0),
    Disc(Haze, 12.0, 6.0, 5.0),
    Disc(Haze, -4.0, 16.0, 4.0),
];

pub(crate) const CRESCENT: Shape =
    &[Halo(Glow, 0.0, 0.0, 46.0), Fill(Glow, "M8-34A35 35 0 1 0 33 16 29 29 0 0 1 8-34Z")];

/// A crescent that lies on its back.
pub(crate) const MOONBOAT: Shape =
    &[Halo(Glow, 0.0, -6.0, 96.0), Fill(Glow, "M-70-22A74 74 0 0 0 70-22 80 60 0 0 1-70-22Z")];

/// In the picture's own coordinates.
pub(crate) const STARS: Shape = &[
    Disc(Light, 34.0, 46.0, 1.6),
    Disc(Light, 70.0, 90.0, 1.2),
    Disc(Light, 110.0, 36.0, 2.0),
    Disc(Light, 150.0, 70.0, 1.2),
    Disc(Light, 190.0, 30.0, 1.6),
    Disc(Light, 226.0, 84.0, 1.4),
    Disc(Light, 262.0, 46.0, 2.0),
    Disc(Light, 46.0, 140.0, 1.4),
    Disc(Light, 246.0, 150.0, 1.2),
    Disc(Light, 92.0, 168.0, 1.2),
    Disc(Light, 276.0, 118.0, 1.2),
    Disc(Light, 20.0, 196.0, 1.6),
    Disc(Light, 198.0, 132.0, 1.2),
];

pub(crate) const STAR: Shape =
    &[Halo(Glow, 0.0, 0.0, 26.0), Fill(Glow, "M0-20 5.5-6.5 20-6 8.5 3 12.5 17 0 9-12.5 17-8.5 3-20-6-5.5-6.5Z")];

pub(crate) const CLOUD: Shape = &[
    Fill(Light, "M-46 14a17 17 0 0 1 3-33 25 25 0 0 1 46-10 21 21 0 0 1 34 13 15 15 0 0 1 7 30Z"),
    Veil(Haze, "M-46 14a17 17 0 0 1-12-10q50 8 104-6a15 15 0 0 1-2 16Z"),
];

pub(crate) const STORM: Shape =
    &[Fill(Mid, "M-46 14a17 17 0 0 1 3-33 25 25 0 0 1 46-10 21 21 0 0 1 34 13 15 15 0 0 1 7 30Z")];

/// In the picture's own coordinates.
pub(crate) const RAIN: Shape = &[Line(
    Light,
    1.4,
    "M30 70l-8 30M80 40l-8 30M120 90l-8 30M170 50l-8 30M220 80l-8 30M270 50l-8 30M50 150l-8 30M100 170l-8 30M200 160l-8 30M250 150\
     l-8 30M24 230l-8 30M276 220l-8 30M70 240l-8 30M236 250l-8 30",
)];

/// In the picture's own coordinates.
pub(crate) const SNOWFALL: Shape = &[
    Disc(Light, 40.0, 60.0, 3.0),
    Disc(Light, 90.0, 110.0, 2.4),
    Disc(Light, 140.0, 50.0, 3.0),
    Disc(Light, 210.0, 90.0, 2.6),
    Disc(Light, 260.0, 50.0, 3.0),
    Disc(Light, 30.0, 170.0, 2.6),
    Disc(Light, 270.0, 180.0, 3.0),
    Disc(Light, 180.0, 150.0, 2.2),
    Disc(Light, 60.0, 240.0, 2.4),
    Disc(Light, 240.0, 250.0, 2.6),
];

pub(crate) const BIRDS: Shape =
    &[Line(Dark, 2.4, "M-30 0q7-8 14 0 7-8 14 0M6-16q6-7 12 0 6-7 12 0M16 12q5-6 10 0 5-6 10 0")];

pub(crate) const PLANET: Shape = &[
    Disc(Warm, 0.0, 0.0, 22.0),
    Veil(Dark, "M-6-21A22 22 0 1 0 16 15 26 26 0 0 1-6-21Z"),
    Line(Glow, 4.0, "M-20-8C-46 2-34 16 2 8S44-18 20-12"),
];

pub(crate) const GLOBE: Shape = &[
    Disc(Cool, 0.0, 0.0, 18.0),
    Fill(Far, "M-14-10q10-8 16 0t-4 12-14 2ZM4 6q10-4 11 2t-9 8Z"),
    Veil(Dark, "M-5-17A18 18 0 1 0 13 12 21 21 0 0 1-5-17Z"),
];

pub(crate) const RAINBOW: Shape = &[
    Line(Warm, 12.0, "M0 320C60 120 240 120 300 320"),
    Line(Glow, 12.0, "M10 326C66 136 234 136 290 326"),
    Line(Cool, 12.0, "M21 330C74 152 226 152 279 330"),
];

pub(crate) const COMET: Shape = &[
    Veil(Warm, "M14-12C80-70 130-84 190-110 150-60 110-20 12 14Z"),
    Veil(Light, "M10-8C60-40 100-52 140-66 110-36 70-10 8 10Z"),
    Disc(Glow, 0.0, 0.0, 18.0),
    Disc(Light, -3.0, -3.0, 9.0),
];

/// A beam to the right, and one to the left.
pub(crate) const BEAM: Shape = &[Veil(Glow, "M0 0 190-46 190 44ZM0 0-190-30-190 30Z")];

pub(crate) const PUFF: Shape =
    &[Oval(Light, 0.0, 0.0, 16.0, 12.0), Disc(Light, -12.0, 4.0, 9.0), Disc(Light, 12.0, 3.0, 10.0)];
