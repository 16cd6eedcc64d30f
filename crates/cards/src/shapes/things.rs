//! Things that lie, hang or fly.

use crate::palette::Ink::{Cool, Dark, Glow, Haze, Light, Near, Warm};
use crate::scene::Mark::{Box, Disc, Fill, Halo, Line, Oval, Veil};
use crate::scene::Shape;

pub(crate) const BALLOON: Shape = &[
    Line(Dark, 1.6, "M0 30Q-8 60 0 96"),
    Oval(Warm, 0.0, 0.0, 26.0, 31.0),
    Fill(Warm, "M-5 36 0 29 5 36Z"),
    Veil(Light, "M-14-8Q-12-24 0-25-8-14-9-4Z"),
];

pub(crate) const KITE: Shape = &[
    Fill(Warm, "M0-60 40-10H0Z"),
    Fill(Glow, "M0-60V-10H-40Z"),
    Fill(Cool, "M-40-10H0V60Z"),
    Fill(Light, "M40-10H0V60Z"),
    Line(Dark, 2.0, "M0-60V60M-40-10H40"),
];

/// From a house to its kite, in the picture's own coordinates.
pub(crate) const KITE_LINE: Shape = &[
    Line(Dark, 1.6, "M92 254Q150 220 212 122M192 164q-16 22-6 44t-14 40"),
    Fill(Warm, "M184 196l14 8-2-14ZM178 236l14 8-2-14Z"),
];

pub(crate) const PIANO: Shape = &[
    Box(Dark, -76.0, -92.0, 152.0, 56.0, 4.0),
    Box(Near, -68.0, -84.0, 136.0, 34.0, 2.0),
    Box(Dark, -84.0, -40.0, 168.0, 12.0, 3.0),
    Box(Light, -76.0, -39.0, 152.0, 8.0, 0.0),
    Line(Dark, 1.6, "M-60-39v8M-44-39v8M-28-39v8M-12-39v8M4-39v8M20-39v8M36-39v8M52-39v8M66-39v8"),
    Box(Dark, -76.0, -28.0, 12.0, 30.0, 0.0),
    Box(Dark, 64.0, -28.0, 12.0, 30.0, 0.0),
    Box(Light, -20.0, -80.0, 18.0, 22.0, 0.0),
    Box(Light, 1.0, -80.0, 18.0, 22.0, 0.0),
];

pub(crate) const MIRROR: Shape = &[
    Oval(Glow, 0.0, -104.0, 62.0, 92.0),
    Oval(Dark, 0.0, -104.0, 56.0, 86.0),
    Line(Glow, 6.0, "M-40-36-54 6M40-36 54 6"),
    Disc(Glow, 0.0, -198.0, 8.0),
];

/// What is seen in the mirror.
pub(crate) const MIRRORED_DAY: Shape = &[
    Oval(Cool, 0.0, -104.0, 52.0, 81.0),
    Fill(Light, "M-30-128a9 9 0 0 1 4-17 12 12 0 0 1 22-2 9 9 0 0 1 8 19Z"),
    Disc(Glow, 20.0, -146.0, 15.0),
    Fill(Glow, "M-52-98Q-20-122 8-98T52-104Q50-56 26-36 0-10-26-36-50-56-52-98Z"),
    Fill(Warm, "M-48-72Q0-92 50-74 42-46 26-36 0-10-26-36-44-50-48-72Z"),
];

pub(crate) const ANCHOR: Shape = &[
    Line(Dark, 9.0, "M0-62V44M-26-40H26"),
    Line(Dark, 9.0, "M-48 6Q-40 46 0 46T48 6"),
    Fill(Dark, "M-62 16-46-14-32 16ZM62 16 46-14 32 16Z"),
    Line(Dark, 6.0, "M0-66a10 10 0 1 0-.1-.1"),
];

/// Links, straight up from its origin.
pub(crate) const CHAIN: Shape = &[Line(
    Dark,
    4.0,
    "M0-2a6 11 0 1 0-.1-22 6 11 0 1 0 .1 22M0-26a6 11 0 1 0-.1-22 6 11 0 1 0 .1 22M0-50a6 11 0 1 0-.1-22 6 11 0 1 0 .1 22M0-74a6 11 0 1 0-.1-22 6 11 0 1 0 .1 22M0-98a6 11 0 1 0-.1-22 6 11 0 1 0 .1 22",
)];

pub(crate) const CROWN: Shape = &[
    Halo(Glow, 0.0, -26.0, 70.0),
    Fill(Glow, "M-50 0-60-58-28-32 0-72 28-32 60-58 50 0Z"),
    Box(Glow, -50.0, -2.0, 100.0, 14.0, 3.0),
    Disc(Warm, 0.0, -76.0, 7.0),
    Disc(Warm, -60.0, -62.0, 6.0),
    Disc(Warm, 60.0, -62.0, 6.0),
    Disc(Cool, 0.0, -18.0, 7.0),
    Disc(Warm, -26.0, -12.0, 5.0),
    Disc(Warm, 26.0, -12.0, 5.0),
];

pub(crate) const CHAIR: Shape = &[
    Fill(Warm, "M-52-120H-38V0H-50ZM44-120H58L56 0H44Z"),
    Box(Warm, -50.0, -256.0, 13.0, 140.0, 3.0),
    Box(Warm, 43.0, -256.0, 13.0, 140.0, 3.0),
    Box(Warm, -44.0, -248.0, 94.0, 18.0, 4.0),
    Box(Warm, -44.0, -206.0, 94.0, 14.0, 4.0),
    Fill(Near, "M-62-128H68L76-108H-70Z"),
];

pub(crate) const MASK: Shape = &[
    Fill(Light, "M-56-70Q0-96 56-70 66 10 0 54-66 10-56-70Z"),
    Fill(Haze, "M0-82Q32-82 56-70 66 10 0 54Z"),
    Fill(Dark, "M-40-34q16-18 30 0-14 12-30 0ZM10-34q14-18 30 0-16 12-30 0Z"),
    Fill(Warm, "M-22 14Q0 26 22 14 12 36 0 36T-22 14Z"),
    Fill(Warm, "M-34-2a8 6 0 1 0 .1 0ZM34-2a8 6 0 1 0 .1 0Z"),
];

pub(crate) const OPEN_BOOK: Shape = &[
    Fill(Dark, "M-98 6Q-50-16 0 2 50-16 98 6V14Q50-6 0 12-50-6-98 14Z"),
    Fill(Light, "M0 0Q-46-22-94 0V-8Q-46-32 0-10 46-32 94-8V0Q46-22 0 0Z"),
];

pub(crate) const CLEF: Shape =
    &[Line(Dark, 2.6, "M0 0V-26L18-32V-6"), Oval(Dark, -5.0, 1.0, 6.5, 4.6), Oval(Dark, 13.0, -5.0, 6.5, 4.6)];

pub(crate) const NEEDLES: Shape =
    &[Line(Light, 5.0, "M-70-90 26 10M70-90-26 10"), Disc(Warm, -72.0, -92.0, 8.0), Disc(Warm, 72.0, -92.0, 8.0)];

/// A road of wool, down from its origin, in the needles' size.
pub(crate) const WOOL_ROAD: Shape = &[
    Fill(Warm, "M-30-10H30Q40 40 10 90T60 210H-90Q-70 140-30 90T-30-10Z"),
    Line(Glow, 5.0, "M-31 8H32M-30 40H27M-38 76H16M-60 116H14M-76 156H30"),
    Line(
        Light,
        3.0,
        "M-31 22 -16 30 0 22 16 30 32 22M-34 58-18 66-4 58 10 66 22 58M-50 96-32 104-16 96-2 104 12 96M-70 136-48 144-28 136-8 144 14 136 24 140",
    ),
];

pub(crate) const ROPE: Shape = &[Line(Dark, 2.6, "M0 214Q150 226 300 214")];

pub(crate) const FISHING: Shape = &[Line(Dark, 2.6, "M0 0 44-34"), Line(Light, 1.2, "M44-34Q60 20 56 90")];

pub(crate) const LIGHTNING: Shape = &[Fill(Glow, "M6-34-16 4H-2L-10 36 16-6H2L16-34Z")];

pub(crate) const SAND: Shape =
    &[Fill(Light, "M0 346Q80 322 160 340T300 330V420H0Z"), Veil(Haze, "M0 372Q90 352 180 368T300 360V420H0Z")];

pub(crate) const STRING_LIGHTS: Shape = &[
    Line(Dark, 1.6, "M0 0Q50 44 100 18T200 34"),
    Disc(Glow, 20.0, 16.0, 5.0),
    Disc(Warm, 46.0, 27.0, 5.0),
    Disc(Glow, 74.0, 27.0, 5.0),
    Disc(Cool, 104.0, 20.0, 5.0),
    Disc(Glow, 132.0, 18.0, 5.0),
    Disc(Warm, 160.0, 24.0, 5.0),
    Disc(Glow, 186.0, 33.0, 5.0),
];

/// What falls out of a teapot.
pub(crate) const POUR: Shape = &[
    Fill(Cool, "M-6 0Q-30 10-34 60L-50 230H42L6 60Q2 26 8 8Z"),
    Line(Light, 2.2, "M-12 30-22 200M-6 60V220M2 70 22 214"),
];
