//! Ground and water, in the picture's own coordinates.

use crate::palette::Ink::{Cool, Dark, Far, Haze, Light, Mid, Near};
use crate::scene::Mark::{Box, Disc, Fill, Line, Oval};
use crate::scene::Shape;

pub(crate) const HILLS: Shape = &[
    Fill(Far, "M0 300Q70 235 150 285T300 258V420H0Z"),
    Fill(Mid, "M0 345Q90 285 180 340T300 318V420H0Z"),
    Fill(Near, "M0 385Q120 342 300 388V420H0Z"),
];

pub(crate) const SEA: Shape = &[
    Fill(Far, "M0 306q19-9 37 0t38 0 37 0 38 0 37 0 38 0 37 0 38 0V420H0Z"),
    Fill(Mid, "M-19 336q19-11 37 0t38 0 37 0 38 0 37 0 38 0 37 0 38 0 38 0V420H-19Z"),
    Fill(Near, "M0 372q19-12 37 0t38 0 37 0 38 0 37 0 38 0 37 0 38 0V420H0Z"),
    Line(Light, 1.5, "M30 324h26M196 320h34M110 356h30M240 352h22M44 392h34M180 396h40"),
];

/// Only the front of the sea, for what swims in it.
pub(crate) const SURF: Shape = &[
    Fill(Near, "M-19 376q19-14 37 0t38 0 37 0 38 0 37 0 38 0 37 0 38 0 38 0V420H-19Z"),
    Line(Light, 1.5, "M60 394h28M170 400h36M226 390h20"),
];

pub(crate) const DUNES: Shape = &[
    Fill(Far, "M0 300Q60 262 130 300T300 270V420H0Z"),
    Fill(Mid, "M0 350Q110 270 200 345 250 320 300 330V420H0Z"),
    Fill(Near, "M0 390Q150 335 300 396V420H0Z"),
];

pub(crate) const PEAKS: Shape = &[
    Fill(Far, "M-20 350 60 200 130 320 196 180 320 350Z"),
    Fill(Light, "M60 200 41 236l12-6 9 9 10-10 9 6ZM196 180l-25 44 16-8 10 12 13-14 15 8Z"),
    Fill(Mid, "M-10 420Q60 330 150 356T310 330V420Z"),
    Fill(Near, "M0 396Q140 360 300 398V420H0Z"),
];

pub(crate) const PLAIN: Shape =
    &[Fill(Mid, "M0 336Q150 322 300 336V420H0Z"), Fill(Near, "M0 372Q150 356 300 374V420H0Z")];

pub(crate) const CLOUDBED: Shape = &[
    Disc(Haze, 20.0, 372.0, 46.0),
    Disc(Haze, 96.0, 360.0, 50.0),
    Disc(Haze, 184.0, 366.0, 54.0),
    Disc(Haze, 270.0, 362.0, 50.0),
    Disc(Light, 0.0, 412.0, 50.0),
    Disc(Light, 62.0, 406.0, 44.0),
    Disc(Light, 130.0, 414.0, 50.0),
    Disc(Light, 204.0, 408.0, 46.0),
    Disc(Light, 280.0, 412.0, 54.0),
];

pub(crate) const CLIFFS: Shape = &[
    Fill(Mid, "M0 236H66l12 26-8 58 16 100H0Z"),
    Fill(Near, "M0 236H66l6 13-22 12-20-8-30 12Z"),
    Fill(Mid, "M300 236h-66l-12 26 8 58-16 100h86Z"),
    Fill(Near, "M300 236h-66l-6 13 22 12 20-8 30 12Z"),
    Line(Dark, 1.5, "M22 296l10 26M46 330l-6 30M262 300l-8 30M280 340l6 24"),
];

pub(crate) const SEABED: Shape = &[
    Fill(Far, "M0 330Q80 290 150 330T300 310V420H0Z"),
    Fill(Near, "M0 380Q110 340 300 384V420H0Z"),
    Line(Cool, 6.0, "M36 396q-14-24 0-46t0-46M58 398q12-18 2-40t4-34M262 394q14-26 0-50t2-44M242 398q-10-18 0-36"),
    Disc(Light, 70.0, 120.0, 4.0),
    Disc(Light, 78.0, 96.0, 6.0),
    Disc(Light, 236.0, 150.0, 5.0),
    Disc(Light, 228.0, 128.0, 3.0),
];

pub(crate) const ROOM: Shape = &[
    Box(Far, 0.0, 0.0, 300.0, 330.0, 0.0),
    Line(Haze, 2.0, "M50 0V330M100 0V330M150 0V330M200 0V330M250 0V330"),
    Box(Near, 0.0, 330.0, 300.0, 90.0, 0.0),
    Box(Dark, 0.0, 324.0, 300.0, 8.0, 0.0),
    Oval(Mid, 150.0, 376.0, 110.0, 22.0),
];

/// A river that comes down from the middle of the picture.
pub(crate) const RIVER: Shape = &[
    Fill(Cool, "M146 262q26 30-10 58t-46 100h150q-30-60-38-96t-34-62Z"),
    Line(Light, 2.0, "M150 290q6 14-8 30M130 350q-14 20-18 48M176 336q10 30 26 56"),
];

pub(crate) const ROCK: Shape = &[
    Fill(Dark, "M-70 0-46-30-20-40 14-34 44-38 64-12 74 0Z"),
    Fill(Mid, "M-46-30-20-40 0-20-30-8ZM14-34 44-38 50-16 24-14Z"),
];

pub(crate) const ISLAND: Shape = &[
    Fill(Near, "M-70 0Q0-14 70 0 60 30 30 44 14 70 0 84-12 62-30 46-60 30-70 0Z"),
    Fill(Mid, "M-70 0Q0-14 70 0 40 16 0 14-40 16-70 0Z"),
];
