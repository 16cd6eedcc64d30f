//! Vehicles and containers.

use crate::palette::Ink::{Cool, Dark, Far, Glow, Haze, Light, Mid, Near, Warm};
use crate::scene::Mark::{Box, Disc, Fill, Halo, Line, Oval, Veil};
use crate::scene::Shape;

pub(crate) const BOAT: Shape = &[
    Line(Dark, 3.0, "M0-16V-96"),
    Fill(Light, "M5-94Q46-60 42-22H5Z"),
    Fill(Warm, "M-4-86Q-34-56-34-22H-4Z"),
    Fill(Dark, "M-52-16H56Q46 10 26 10H-26Q-44 10-52-16Z"),
    Line(Glow, 2.0, "M-46-8H50"),
];

/// Hung up at its top, it carries a basket.
pub(crate) const AIRSHIP_FISH: Shape = &[
    Line(Dark, 1.6, "M-24 22-10 66M24 22 10 66M-6 28-4 66M6 28 4 66"),
    Box(Dark, -14.0, 66.0, 28.0, 18.0, 3.0),
    Fill(Warm, "M-78 0Q-50-46 6-44 58-40 76 0 58 36 6 40-50 38-78 0Z"),
    Fill(Warm, "M-66 0-104-34Q-94 0-104 32Z"),
    Fill(Glow, "M-14-44Q-2-66 26-58L20-42ZM-16 39Q-4 60 20 54L16 39Z"),
    Fill(Light, "M34-34Q20 0 34 32 66 20 76 0 66-22 34-34Z"),
    Disc(Dark, 54.0, -8.0, 5.0),
    Line(Glow, 3.0, "M-36-20q8 8 0 18M-36 8q8 8 0 16M-10-26q9 10 0 22M-10 6q9 10 0 20M12-18q8 8 0 18M12 8q8 8 0 16"),
];

pub(crate) const UMBRELLA: Shape = &[
    Line(Dark, 3.0, "M0-56V34q0 12-9 12t-9-10"),
    Fill(Warm, "M-58 0A58 56 0 0 1 58 0Q44-12 29 0 15-12 0 0-15-12-29 0-44-12-58 0Z"),
    Line(Dark, 1.6, "M0-56Q-26-34-29 0M0-56Q26-34 29 0"),
];

/// It lies on its handle's other end.
pub(crate) const UMBRELLA_BOAT: Shape = &[
    Line(Dark, 3.0, "M0 30V-70q0-12 9-12t9 10"),
    Fill(Warm, "M-70-8A70 52 0 0 0 70-8Q52 2 35-8 18 2 0-8-18 2-35-8-52 2-70-8Z"),
    Line(Dark, 1.6, "M0 44Q-30 26-35-8M0 44Q30 26 35-8"),
];

pub(crate) const TEAPOT: Shape = &[
    Line(Light, 8.0, "M-40-46q-34-4-28 24t34 14"),
    Fill(Light, "M42-30Q70-36 78-66l10 4Q84-10 42-6Z"),
    Fill(Light, "M-44-30Q-44-62 0-62t44 32Q44 0 0 0t-44-30Z"),
    Fill(Warm, "M-44-32Q0-22 44-32l-2 12Q0-10-42-20Z"),
    Fill(Warm, "M-22-60Q0-78 22-60Z"),
    Disc(Glow, 0.0, -72.0, 5.0),
    Disc(Cool, 0.0, -42.0, 5.0),
    Disc(Cool, -20.0, -42.0, 4.0),
    Disc(Cool, 20.0, -42.0, 4.0),
];

pub(crate) const BIRDCAGE: Shape = &[
    Line(Dark, 3.0, "M0-108v-16"),
    Line(
        Dark,
        2.2,
        "M-44-8v-44Q-44-108 0-108T44-52v44M-26-6v-50Q-22-104 0-108M26-6v-50Q22-104 0-108M0-108V-4M-44-52Q0-40 44-52",
    ),
    Box(Dark, -48.0, -8.0, 96.0, 10.0, 4.0),
];

pub(crate) const HOURGLASS: Shape = &[
    Veil(Light, "M-40-66H40Q40-24 8 0 40 24 40 66H-40Q-40 24-8 0-40-24-40-66Z"),
    Fill(Glow, "M-32-34H32Q24-14 0-2-24-14-32-34Z"),
    Fill(Mid, "M-40 66Q-40 46-28 38-10 26 0 42 14 24 28 38 40 46 40 66Z"),
    Line(Glow, 2.5, "M0-4V40"),
    Line(Light, 2.4, "M-40-66Q-40-24-8 0-40 24-40 66M40-66Q40-24 8 0 40 24 40 66"),
    Box(Dark, -50.0, -78.0, 100.0, 13.0, 4.0),
    Box(Dark, -50.0, 65.0, 100.0, 13.0, 4.0),
];

pub(crate) const BOTTLE: Shape = &[
    Veil(Light, "M-96-34H30Q50-34 58-14H92V14H58Q50 34 30 34H-96Q-108 34-108 20V-20Q-108-34-96-34Z"),
    Fill(Cool, "M-108 8q14-8 28 0t28 0 28 0 28 0 28 0 22-4Q50 34 30 34H-96q-12 0-12-14Z"),
    Line(Light, 2.6, "M-96-34H30Q50-34 58-14H92V14H58Q50 34 30 34H-96Q-108 34-108 20V-20Q-108-34-96-34Z"),
    Fill(Warm, "M88-15h16v30H88Z"),
];

pub(crate) const JAR: Shape = &[
    Veil(Light, "M-44-96H44Q54-90 54-78V-12Q54 0 42 0H-42Q-54 0-54-12V-78Q-54-90-44-96Z"),
    Line(Light, 2.6, "M-44-96Q-54-90-54-78V-12Q-54 0-42 0H42Q54 0 54-12V-78Q54-90 44-96"),
    Box(Dark, -46.0, -112.0, 92.0, 17.0, 5.0),
];

pub(crate) const SNOWGLOBE: Shape = &[
    Veil(Light, "M-66-60A66 66 0 1 1 66-60Q66-20 40 0H-40Q-66-20-66-60Z"),
    Line(Light, 2.6, "M-40 0Q-66-20-66-60A66 66 0 1 1 66-60Q66-20 40 0"),
    Fill(Light, "M-54-22Q0-44 54-22L40 0H-40Z"),
    Fill(Warm, "M-50-2H50L60 26H-60Z"),
    Box(Dark, -64.0, 24.0, 128.0, 10.0, 4.0),
    Line(Light, 3.0, "M-44-92Q-36-112-16-116"),
];

pub(crate) const BED: Shape = &[
    Box(Dark, -64.0, -62.0, 10.0, 66.0, 4.0),
    Box(Dark, 56.0, -40.0, 10.0, 44.0, 4.0),
    Box(Light, -54.0, -20.0, 112.0, 16.0, 3.0),
    Box(Light, -52.0, -34.0, 34.0, 16.0, 8.0),
    Disc(Haze, -30.0, -36.0, 11.0),
    Fill(Near, "M-40-40q4-12 16-8 4 4 2 10-10-6-18-2Z"),
    Fill(Warm, "M-22-22Q0-48 26-34q16 8 32 6v24H-22Z"),
    Line(Glow, 2.0, "M-10-30 2-4M14-38 26-4M38-32 46-4"),
];

pub(crate) const TRAIN: Shape = &[
    Box(Warm, -20.0, -40.0, 62.0, 28.0, 10.0),
    Box(Dark, -34.0, -62.0, 30.0, 50.0, 2.0),
    Box(Glow, -28.0, -54.0, 18.0, 16.0, 2.0),
    Box(Dark, 22.0, -60.0, 10.0, 22.0, 1.0),
    Fill(Dark, "M18-60h18l4-8H14ZM40-12 58-2H36Z"),
    Box(Cool, -104.0, -46.0, 62.0, 34.0, 4.0),
    Box(Glow, -96.0, -38.0, 14.0, 13.0, 2.0),
    Box(Glow, -74.0, -38.0, 14.0, 13.0, 2.0),
    Line(Dark, 4.0, "M-44-16h10"),
    Disc(Dark, -22.0, -8.0, 11.0),
    Disc(Dark, 6.0, -8.0, 9.0),
    Disc(Dark, 30.0, -8.0, 9.0),
    Disc(Dark, -92.0, -8.0, 9.0),
    Disc(Dark, -58.0, -8.0, 9.0),
    Disc(Far, -22.0, -8.0, 4.0),
    Disc(Far, 6.0, -8.0, 3.0),
    Disc(Far, 30.0, -8.0, 3.0),
];

pub(crate) const CAN: Shape = &[
    Line(Cool, 6.0, "M-26-44q-30 0-28 24t28 12"),
    Fill(Cool, "M-28-46H26L32 0H-34Z"),
    Fill(Cool, "M26-22 66-58l8 8L30-4Z"),
    Fill(Dark, "M60-66 82-44l-8 4-20-20Z"),
    Oval(Dark, -1.0, -46.0, 27.0, 6.0),
    Line(Glow, 2.4, "M78-34q10 14 6 34M84-40q20 14 22 40M72-30q0 16-10 30"),
];

pub(crate) const LANTERN: Shape = &[
    Halo(Glow, 0.0, -26.0, 60.0),
    Halo(Glow, 0.0, -26.0, 36.0),
    Line(Dark, 3.0, "M-12-50Q0-72 12-50"),
    Fill(Dark, "M-20-44-12-52H12l8 8ZM-20 0v-8h40v8Z"),
    Box(Glow, -15.0, -44.0, 30.0, 36.0, 3.0),
    Line(Dark, 2.4, "M-15-44v36M0-44v36M15-44v36"),
];

pub(crate) const FLOOR_LAMP: Shape = &[
    Veil(Glow, "M-34-108-96 20H96L34-108Z"),
    Line(Dark, 4.0, "M0 0V-120"),
    Oval(Dark, 0.0, 0.0, 24.0, 5.0),
    Fill(Warm, "M-18-150H18L38-106H-38Z"),
    Disc(Glow, 0.0, -104.0, 7.0),
];

pub(crate) const CANDLE: Shape = &[
    Halo(Glow, 0.0, -176.0, 62.0),
    Halo(Glow, 0.0, -176.0, 34.0),
    Fill(Light, "M-34 0V-140Q-30-154-20-148-10-158 2-148 18-158 34-142V0Z"),
    Fill(Haze, "M-34-140v50q6 16 10 0v-44ZM34-140v64q-8 20-14 0v-66ZM-52 0q10-14 18-8v8Z"),
    Box(Dark, -9.0, -40.0, 18.0, 40.0, 9.0),
    Box(Glow, -18.0, -76.0, 11.0, 16.0, 5.0),
    Box(Glow, 6.0, -104.0, 11.0, 16.0, 5.0),
    Box(Glow, -18.0, -126.0, 11.0, 16.0, 5.0),
    Line(Dark, 3.0, "M0-150v-12"),
    Fill(Glow, "M0-206Q20-178 0-160-20-178 0-206Z"),
    Fill(Warm, "M0-184Q9-172 0-162-9-172 0-184Z"),
];
