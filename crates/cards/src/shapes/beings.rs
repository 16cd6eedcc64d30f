//! Animals and people.

use crate::palette::Ink::{Cool, Dark, Far, Glow, Haze, Light, Mid, Near, Warm};
use crate::scene::Mark::{Disc, Fill, Line, Veil};
use crate::scene::Shape;

pub(crate) const WHALE: Shape = &[
    Fill(
        Cool,
        "M-120-4Q-112-56-40-58 50-60 92-22 110-30 108-62 122-46 124-36 138-46 148-44 134-8 104 0 60 46-20 46-108 46-120-4Z",
    ),
    Fill(Light, "M-118 4Q-90 18-40 16 20 14 60 22 20 46-24 46-104 46-118 4Z"),
    Line(Cool, 2.0, "M-96 18q20 12 50 14M-80 28q20 10 46 10M-50 16q24 12 56 12"),
    Fill(Dark, "M-30 22Q-14 62 18 62 8 38 0 22Z"),
    Disc(Dark, -92.0, -10.0, 4.5),
    Disc(Light, -93.5, -11.5, 1.5),
];

pub(crate) const FOX: Shape = &[
    Fill(Warm, "M40 0Q84-8 78-50 70-30 44-34Z"),
    Fill(Light, "M78-50Q80-30 68-22L64-34Z"),
    Fill(Warm, "M-22 0Q-30-56 4-70 40-60 46 0Z"),
    Fill(Light, "M-12 0Q-16-34 2-50 16-30 14 0Z"),
    Fill(Warm, "M-26-92-16-72Q-34-62-40-50q20 14 38 6L20-62 16-94 2-80Q-8-84-14-80Z"),
    Fill(Light, "M-40-50q12-6 20 0l8 4q-14 8-28-4Z"),
    Disc(Dark, -40.0, -50.0, 3.6),
    Disc(Dark, -12.0, -64.0, 2.8),
    Fill(Dark, "M-24-88-20-76-14-78ZM15-90 6-80l7 5Z"),
];

/// Asleep, curled up.
pub(crate) const CAT: Shape = &[
    Fill(Cool, "M-120 0Q-128-66-52-84 40-96 92-50 132-20 120 0Z"),
    Fill(Cool, "M-118-36-116-84-88-66-62-72-40-98-34-54Q-30-20-70-14-112-14-118-36Z"),
    Line(Dark, 3.0, "M-98-42q8 7 16 0M-66-42q8 7 16 0M-78-30q4 5 8 0"),
    Line(Light, 1.4, "M-104-26-136-30M-104-22-134-16M-50-26-20-30M-50-22-20-18"),
    Line(Dark, 14.0, "M110-6Q60 6 6-6"),
    Line(Cool, 10.0, "M110-6Q60 6 6-6"),
];

pub(crate) const SNAIL: Shape = &[
    Fill(Haze, "M-84 0Q-88-14-70-18L-60-62Q-50-64-46-52L-34-22H60Q84-16 92 0Z"),
    Line(Haze, 4.0, "M-60-56-72-84M-50-56-48-86"),
    Disc(Dark, -72.0, -86.0, 4.0),
    Disc(Dark, -48.0, -88.0, 4.0),
    Line(Dark, 2.0, "M-66-40q6 4 10 1"),
];

pub(crate) const ELEPHANT: Shape = &[
    Fill(Cool, "M-52-8V-44Q-52-86-4-86 40-88 50-54L54-8H32L28-32H-8L-12-8h-22L-36-24Z"),
    Fill(Cool, "M-36-92Q-80-96-84-60-86-26-100-10q10 4 16-4 12-20 14-44 30 10 46-18Z"),
    Fill(Mid, "M-40-88Q-8-98-10-60-26-38-44-52Z"),
    Fill(Light, "M-66-50q-14 12-26 6 10 14 30 2Z"),
    Disc(Dark, -60.0, -70.0, 3.2),
    Line(Cool, 4.0, "M50-62q12 8 10 24"),
];

/// Only its neck and head: it comes from below.
pub(crate) const GIRAFFE: Shape = &[
    Fill(Glow, "M-24 0Q-16-90-14-150L-44-160Q-60-156-66-168q2-12 20-16l26-16L8-192Q18-176 14-150 16-80 34 0Z"),
    Line(Dark, 4.0, "M-16-196-20-220M0-196 4-220"),
    Disc(Dark, -20.0, -222.0, 5.0),
    Disc(Dark, 4.0, -222.0, 5.0),
    Fill(Glow, "M8-190 30-196 16-178Z"),
    Disc(Dark, -22.0, -180.0, 4.0),
    Line(Dark, 2.0, "M-62-166q10 4 18 0"),
    Fill(
        Warm,
        "M-8-140 8-144 6-124-8-122ZM-12-104 6-112 12-92-10-86ZM-14-66 4-74 14-50-8-44ZM-16-28 6-36 16-12-14-6ZM12-84 18-80 20-62 14-66Z",
    ),
];

pub(crate) const OCTOPUS: Shape = &[
    Line(
        Warm,
        13.0,
        "M-26-10Q-70 10-86-34M-14 0Q-50 44-84 30M0 2Q-16 50-36 62M26-10Q70 10 86-34M14 0Q50 44 84 30M0 2Q16 50 36 62",
    ),
    Fill(Warm, "M-44-20Q-52-90 0-92 52-90 44-20 34 10 0 12-34 10-44-20Z"),
    Disc(Light, -16.0, -36.0, 11.0),
    Disc(Light, 16.0, -36.0, 11.0),
    Disc(Dark, -14.0, -34.0, 5.0),
    Disc(Dark, 18.0, -34.0, 5.0),
    Line(Dark, 2.6, "M-8-14q8 8 16 0"),
];

pub(crate) const RABBIT: Shape = &[
    Fill(Light, "M-26 0Q-34-40 0-46 34-40 30 0Z"),
    Fill(Light, "M-20-56Q-34-100-22-114-8-108-8-66ZM6-66Q8-108 22-114 34-100 18-56Z"),
    Fill(Warm, "M-19-66Q-26-96-20-104-14-98-13-68ZM11-68Q14-98 20-104 26-96 17-66Z"),
    Disc(Light, 0.0, -52.0, 24.0),
    Disc(Dark, -9.0, -56.0, 3.0),
    Disc(Dark, 9.0, -56.0, 3.0),
    Fill(Warm, "M-4-47H4L0-42Z"),
    Line(Haze, 1.6, "M-10-44-26-48M-10-41-26-39M10-44 26-48M10-41 26-39"),
    Disc(Light, 30.0, -8.0, 9.0),
];

pub(crate) const BEAR_SHADOW: Shape = &[Veil(
    Dark,
    "M-70 0Q-88-90-62-140-84-152-78-176-62-194-44-176-22-190 0-190T44-176Q62-194 78-176 84-152 62-140 88-90 70 0ZM-70-110Q-120-140-116-176-96-160-84-150ZM70-110\
     Q120-140 116-176 96-160 84-150Z",
)];

pub(crate) const TURTLE: Shape = &[
    Fill(Glow, "M-96-26Q-130-44-132-22-130-4-96-6ZM60 14Q94 44 116 28 96 6 74 0ZM-64 12Q-86 46-110 34-96 10-78 2Z"),
    Fill(Near, "M-104-8Q-90-64 0-66 90-64 104-8 60 18 0 18-60 18-104-8Z"),
    Line(Far, 2.6, "M-62-46Q-56-10-66 10M0-64V16M62-46Q56-10 66 10M-98-18Q0-34 98-18"),
    Disc(Dark, -118.0, -26.0, 3.4),
];

pub(crate) const FISH: Shape = &[
    Fill(Warm, "M-24 0Q0-20 24 0 0 20-24 0ZM18 0 38-14V14Z"),
    Disc(Light, -12.0, -3.0, 3.4),
    Disc(Dark, -12.5, -3.0, 1.7),
    Line(Glow, 2.0, "M0-9q5 9 0 18"),
];

pub(crate) const BIG_BIRD: Shape = &[
    Fill(Warm, "M0 0Q-40-26-66-92-20-70 4-40 30-80 88-92 70-30 26-2 34 30 20 62 10 40 2 62-12 30 0 0Z"),
    Fill(Glow, "M-2-8Q-26-30-44-66-14-50 2-28ZM28-8Q50-34 68-70 40-56 24-30Z"),
    Disc(Warm, 10.0, -44.0, 14.0),
    Fill(Glow, "M22-50 40-44 22-38Z"),
    Disc(Dark, 14.0, -47.0, 2.8),
    Line(Glow, 3.0, "M8-58 2-74M13-58 15-76"),
    Line(Warm, 4.0, "M8 40Q-8 80-30 92M12 44Q14 84 6 108M16 40Q34 74 52 86"),
];

/// A person who stands and looks away.
pub(crate) const PERSON: Shape = &[
    Fill(Dark, "M-8 0-6-22H6L8 0H2L0-16-2 0Z"),
    Fill(Warm, "M-13-18Q-12-46 0-48 12-46 13-18Z"),
    Disc(Light, 0.0, -55.0, 8.0),
    Fill(Dark, "M-9-55Q-8-66 0-66T9-55Q0-60-9-55Z"),
];

/// A person who sits, arms before them.
pub(crate) const SITTER: Shape = &[
    Fill(Warm, "M-11 0Q-12-28 0-32 14-28 13 0Z"),
    Line(Dark, 6.0, "M6-3H24V14"),
    Line(Warm, 5.0, "M6-22 24-26"),
    Disc(Light, 2.0, -40.0, 8.5),
    Fill(Dark, "M-8-40Q-8-52 2-52T11-43Q2-47-8-40Z"),
];

pub(crate) const HORSE: Shape = &[
    Fill(
        Light,
        "M-58-52Q-30-66 16-62L30-96Q38-116 60-112L58-126 70-112Q82-98 92-82L84-74 62-84 56-50Q54-34 44-26L50 0H40L28-22H-30L-44 0H-54L-50-26Q-62-34-58-52Z",
    ),
    Fill(Warm, "M22-74Q28-124 60-114 40-104 38-62ZM-58-52Q-84-58-86-24-70-40-54-36Z"),
    Fill(Cool, "M-20-64H14Q16-46-4-46T-20-64Z"),
    Disc(Dark, 66.0, -98.0, 3.0),
    Line(Dark, 6.0, "M-78 0Q0 36 82-4"),
];

pub(crate) const DRAGON: Shape = &[
    Line(Light, 22.0, "M0 0Q-34-26-6-52T6-104Q-24-134 20-160"),
    Line(Light, 14.0, "M20-160Q50-186 84-174"),
    Fill(Light, "M72-194Q98-204 120-184L128-172Q110-156 88-158 66-162 66-176Z"),
    Fill(Light, "M80-192 74-216 92-196ZM98-194 100-216 110-190ZM-4-96Q-70-124-96-176-40-172 14-122Z"),
    Veil(Mid, "M-14-108Q-56-130-80-164-40-154 6-120Z"),
    Disc(Dark, 104.0, -180.0, 4.0),
    Disc(Glow, 124.0, -170.0, 2.6),
    Line(Haze, 2.0, "M-10-20q14 4 22-6M-14-50q16 6 26-4M-4-84q14 6 26 0M-10-124q14 8 24 0"),
];

pub(crate) const MOTH: Shape = &[
    Fill(Light, "M0-2Q-18-20-22-6-18 6 0 4 18 6 22-6 18-20 0-2Z"),
    Fill(Haze, "M0 4Q-14 6-12 16-4 16 0 8 4 16 12 16 14 6 0 4Z"),
    Line(Dark, 2.0, "M0-6V10M0-6-5-13M0-6 5-13"),
];

pub(crate) const JELLY: Shape = &[
    Line(Light, 2.4, "M-18 0q-8 20 0 34t-4 30M-6 0q6 22-2 40t2 34M8 0q-6 20 2 36t-2 30M20 0q8 20 0 32t4 26"),
    Fill(Cool, "M-30 0Q-32-44 0-44T30 0Q20-8 10 0 0-8-10 0-20-8-30 0Z"),
    Veil(Light, "M-20-12Q-20-36 0-36 -12-24-10-8Z"),
];
