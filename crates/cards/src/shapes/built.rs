//! Buildings and other built things, standing on their origin.

use crate::palette::Ink::{Cool, Dark, Glow, Haze, Light, Mid, Near, Warm};
use crate::scene::Mark::{Box, Disc, Fill, Halo, Line};
use crate::scene::Shape;

pub(crate) const BOOK_TOWER: Shape = &[
    Box(Warm, -40.0, -26.0, 80.0, 26.0, 3.0),
    Box(Light, -34.0, -22.0, 76.0, 18.0, 0.0),
    Box(Cool, -32.0, -50.0, 70.0, 24.0, 3.0),
    Box(Light, -36.0, -46.0, 66.0, 16.0, 0.0),
    Box(Glow, -32.0, -74.0, 62.0, 24.0, 3.0),
    Box(Light, -28.0, -70.0, 60.0, 16.0, 0.0),
    Box(Near, -28.0, -98.0, 58.0, 24.0, 3.0),
    Box(Light, -30.0, -94.0, 54.0, 16.0, 0.0),
    Box(Warm, -26.0, -120.0, 50.0, 22.0, 3.0),
    Box(Light, -22.0, -117.0, 48.0, 16.0, 0.0),
    Box(Cool, -22.0, -142.0, 46.0, 22.0, 3.0),
    Box(Light, -24.0, -139.0, 43.0, 16.0, 0.0),
    Box(Dark, -28.0, -149.0, 56.0, 7.0, 2.0),
    Box(Glow, -15.0, -174.0, 30.0, 25.0, 0.0),
    Line(Dark, 2.5, "M-15-174v25M0-174v25M15-174v25"),
    Fill(Warm, "M-22-172Q0-206 22-172Z"),
    Line(Mid, 1.2, "M-30-18h68M-32-12h72M-30-40h56M-24-63h54M-28-88h46M-18-110h40M-20-131h36"),
];

pub(crate) const HOUSE: Shape = &[
    Box(Dark, 14.0, -74.0, 9.0, 26.0, 0.0),
    Box(Light, -28.0, -42.0, 56.0, 42.0, 0.0),
    Fill(Warm, "M-36-40 0-76 36-40Z"),
    Box(Dark, -6.0, -24.0, 14.0, 24.0, 6.0),
    Box(Glow, -22.0, -34.0, 12.0, 12.0, 1.0),
    Box(Glow, 13.0, -34.0, 10.0, 12.0, 1.0),
];

pub(crate) const TOWER: Shape = &[
    Fill(Mid, "M-20 0-16-110H16L20 0Z"),
    Fill(Near, "M0 0V-110H16L20 0Z"),
    Fill(Mid, "M-22-110v-20h9v8h8v-8h10v8h8v-8h9v20Z"),
    Box(Glow, -5.0, -92.0, 10.0, 18.0, 5.0),
    Box(Dark, -7.0, -26.0, 14.0, 26.0, 7.0),
];

pub(crate) const CASTLE: Shape = &[
    Box(Mid, -44.0, -44.0, 88.0, 44.0, 0.0),
    Box(Mid, -52.0, -70.0, 22.0, 70.0, 0.0),
    Box(Mid, 30.0, -70.0, 22.0, 70.0, 0.0),
    Box(Near, -13.0, -86.0, 26.0, 86.0, 0.0),
    Fill(Warm, "M-56-70-41-100-26-70ZM26-70 41-100 56-70ZM-18-86 0-124 18-86Z"),
    Fill(Dark, "M-9 0V-18a9 9 0 0 1 18 0V0Z"),
    Box(Glow, -44.0, -58.0, 7.0, 12.0, 3.0),
    Box(Glow, 38.0, -58.0, 7.0, 12.0, 3.0),
    Box(Glow, -4.0, -70.0, 8.0, 14.0, 4.0),
];

/// A door that stands ajar.
pub(crate) const DOOR: Shape = &[
    Halo(Glow, 0.0, -52.0, 74.0),
    Fill(Dark, "M-36 0v-78a36 36 0 0 1 72 0V0Z"),
    Fill(Glow, "M-28 0v-76a28 28 0 0 1 56 0V0Z"),
    Fill(Warm, "M-28 0v-76q0-18 14-25L12-86V14Z"),
    Line(Dark, 2.0, "M-20-84 4-74v26l-24-4ZM-20-42 4-36V0l-24-6Z"),
    Disc(Glow, 5.0, -32.0, 3.5),
];

pub(crate) const GATE: Shape = &[
    Halo(Glow, 0.0, -60.0, 92.0),
    Box(Mid, -56.0, -96.0, 20.0, 96.0, 2.0),
    Box(Mid, 36.0, -96.0, 20.0, 96.0, 2.0),
    Fill(Near, "M-62-96A62 56 0 0 1 62-96H44A44 40 0 0 0-44-96Z"),
    Fill(Glow, "M-36 0v-94a36 36 0 0 1 72 0V0Z"),
    Fill(Light, "M-16 0v-90a16 20 0 0 1 32 0V0Z"),
];

/// From its foot straight up.
pub(crate) const LADDER: Shape = &[
    Line(Dark, 4.0, "M-12 0 -8-180M12 0 8-180"),
    Line(Dark, 3.0, "M-11-16h22M-11-38h22M-11-60h21M-10-82h20M-10-104h19M-9-126h18M-9-148h18M-8-168h16"),
];

/// Steps that go up to the right.
pub(crate) const STAIRS: Shape = &[
    Fill(Mid, "M-90 0v-14h26v-18h26v-18h26v-18h26v-18h26v-18h26v-18h24V0Z"),
    Fill(
        Light,
        "M-90-14h26v6h-26ZM-64-32h26v6h-26ZM-38-50h26v6h-26ZM-12-68h26v6h-26ZM14-86h26v6H14ZM40-104h26v6H40ZM66-122h24v6H66Z",
    ),
];

pub(crate) const CLOCK: Shape = &[
    Disc(Dark, 0.0, 0.0, 34.0),
    Disc(Light, 0.0, 0.0, 29.0),
    Line(Dark, 3.0, "M0 0V-19M0 0 13 8"),
    Line(Dark, 2.0, "M0-26v4M0 26v-4M26 0h-4M-26 0h4M18-18l-3 3M-18-18l3 3M18 18l-3-3M-18 18l3-3"),
    Disc(Warm, 0.0, 0.0, 3.5),
];

pub(crate) const LIGHTED_TOWERS: Shape = &[
    Box(Near, -40.0, -70.0, 18.0, 70.0, 0.0),
    Box(Mid, -20.0, -96.0, 18.0, 96.0, 0.0),
    Box(Near, 0.0, -60.0, 16.0, 60.0, 0.0),
    Box(Mid, 18.0, -84.0, 20.0, 84.0, 0.0),
    Fill(Dark, "M-20-96h18l-9-16ZM18-84h20l-10-14Z"),
    Line(
        Glow,
        3.0,
        "M-34-58v4M-28-44v4M-34-30v4M-14-80v4M-8-64v4M-14-46v4M-8-26v4M6-46v4M10-28v4M24-70v4M32-56v4M24-38v4M32-20v4",
    ),
];

pub(crate) const STAGE: Shape = &[
    Fill(Warm, "M0 0H300V40Q262 62 225 42 188 64 150 42 112 64 75 42 38 62 0 40Z"),
    Fill(Warm, "M0 30H58Q66 160 26 260L40 420H0ZM300 30h-58Q234 160 274 260l-14 160h40Z"),
    Line(Dark, 2.0, "M16 46Q30 170 10 280M38 48Q46 170 20 262M284 46Q270 170 290 280M262 48Q254 170 280 262"),
    Line(Glow, 4.0, "M4 262h26M270 262h26"),
    Line(Glow, 2.5, "M0 42Q38 64 75 44 112 66 150 44 188 66 225 44 262 64 300 42"),
];

pub(crate) const CHIMNEY_HOUSE: Shape = &[
    Box(Near, 22.0, -112.0, 22.0, 60.0, 0.0),
    Box(Dark, 18.0, -118.0, 30.0, 9.0, 1.0),
    Box(Light, -58.0, -60.0, 116.0, 60.0, 0.0),
    Fill(Near, "M-72-56-30-106H40L72-56Z"),
    Box(Dark, -12.0, -38.0, 24.0, 38.0, 2.0),
    Box(Glow, -44.0, -46.0, 20.0, 20.0, 1.0),
    Box(Glow, 26.0, -46.0, 20.0, 20.0, 1.0),
    Line(Dark, 1.8, "M-34-46v20M-44-36h20M36-46v20M26-36h20"),
];

pub(crate) const KEYHOLE: Shape =
    &[Halo(Glow, 0.0, -30.0, 56.0), Fill(Glow, "M0-66a22 22 0 0 1 10 41L22 10h-44l12-35A22 22 0 0 1 0-66Z")];

pub(crate) const BRIDGE_QUILL: Shape = &[
    Fill(Light, "M-104 14Q-70-26 0-26T118-20Q60-2 30 8 20-2 10 10-10 0-22 14-36 4-52 16-64 8-104 14Z"),
    Line(Mid, 2.5, "M-128 22Q-60 2 118-20"),
    Line(Haze, 1.6, "M-70 10l12-18M-44 6l12-20M-16 4-4-18M14 0l12-20M44-4l12-17M72-10l10-12"),
];

pub(crate) const SWING: Shape = &[Line(Dark, 1.8, "M-12-110-14 0M12-110 14 0"), Box(Warm, -22.0, -2.0, 44.0, 6.0, 2.0)];
