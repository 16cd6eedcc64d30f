//! What has grown, standing on its origin.

use crate::palette::Ink::{Cool, Dark, Far, Glow, Light, Mid, Near, Warm};
use crate::scene::Mark::{Box, Disc, Fill, Halo, Line, Oval};
use crate::scene::Shape;

pub(crate) const TREE: Shape = &[
    Fill(Dark, "M-5 0Q-3-30-6-52H6Q3-30 6 0Z"),
    Disc(Mid, 0.0, -74.0, 28.0),
    Disc(Mid, -20.0, -58.0, 18.0),
    Disc(Mid, 20.0, -58.0, 18.0),
    Disc(Far, -8.0, -82.0, 12.0),
    Disc(Far, 12.0, -68.0, 7.0),
];

pub(crate) const PINE: Shape = &[
    Box(Dark, -3.0, -14.0, 6.0, 14.0, 0.0),
    Fill(Mid, "M0-96 18-62H10L24-38H14L30-12H-30L-14-38H-24L-10-62H-18Z"),
    Fill(Near, "M0-96 18-62H10L24-38H14L30-12H0Z"),
];

/// A tree without leaves.
pub(crate) const BARE: Shape = &[
    Line(Dark, 10.0, "M0 0Q-4-40 0-70"),
    Line(Dark, 5.0, "M0-60Q-24-80-36-108M-2-68Q10-96 6-124M0-56Q26-74 40-100"),
    Line(Dark, 2.6, "M-20-82l-22-4M-30-96l-2-20M4-100l-12-18M6-108l12-16M24-78l22-2M34-92l4-20"),
];

pub(crate) const MUSHROOM: Shape = &[
    Fill(Light, "M-22 0Q-14-40-18-60H18Q14-40 22 0Z"),
    Fill(Warm, "M-64-52A64 60 0 0 1 64-52Q0-34-64-52Z"),
    Disc(Light, -30.0, -72.0, 8.0),
    Disc(Light, 2.0, -90.0, 10.0),
    Disc(Light, 34.0, -70.0, 7.0),
    Disc(Light, -6.0, -62.0, 5.0),
    Fill(Dark, "M-8 0v-20a8 8 0 0 1 16 0V0Z"),
    Box(Glow, -5.0, -48.0, 10.0, 10.0, 5.0),
];

pub(crate) const CACTUS: Shape = &[
    Line(Cool, 24.0, "M0-10V-96"),
    Line(Cool, 16.0, "M0-36H-30V-70M0-50H32V-86"),
    Line(Dark, 1.6, "M-5-16V-92M5-16V-92M-30-44V-66M32-58V-82"),
    Disc(Warm, 0.0, -110.0, 7.0),
    Disc(Warm, 32.0, -96.0, 5.0),
];

pub(crate) const BALLOON_TREE: Shape = &[
    Fill(Dark, "M-8 0Q-4-40-10-70H10Q4-40 8 0Z"),
    Line(Dark, 1.6, "M0-66-40-96M0-66-14-118M0-66 16-122M0-66 44-98M0-66 0-90M0-66-26-84M0-66 30-84"),
    Oval(Warm, -46.0, -112.0, 20.0, 24.0),
    Oval(Cool, -16.0, -138.0, 20.0, 24.0),
    Oval(Glow, 20.0, -140.0, 20.0, 24.0),
    Oval(Warm, 50.0, -112.0, 20.0, 24.0),
    Oval(Light, 2.0, -108.0, 20.0, 24.0),
    Oval(Cool, 28.0, -92.0, 14.0, 17.0),
    Oval(Glow, -26.0, -90.0, 14.0, 17.0),
];

pub(crate) const EGG: Shape = &[
    Halo(Glow, 0.0, -30.0, 58.0),
    Fill(Light, "M-30-26A30 30 0 0 0 30-26L20-38 10-26 0-40-10-26-20-38Z"),
    Fill(Glow, "M-20-38-10-26 0-40 10-26 20-38 14-54H-14Z"),
];

pub(crate) const FLOWERS: Shape = &[
    Line(Dark, 2.0, "M-30 0v-22M-8 0v-34M14 0v-24M34 0v-30"),
    Disc(Warm, -30.0, -26.0, 7.0),
    Disc(Light, -8.0, -38.0, 8.0),
    Disc(Glow, 14.0, -28.0, 7.0),
    Disc(Warm, 34.0, -34.0, 8.0),
    Disc(Dark, -8.0, -38.0, 2.6),
    Disc(Dark, 34.0, -34.0, 2.6),
    Fill(Near, "M-8-8q10-12 14-4-6 8-14 4ZM34-8q10-10 12-2-6 6-12 2Z"),
];
