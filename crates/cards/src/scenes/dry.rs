//! Cards 28 to 36: on the plain, in the desert, and indoors.

use crate::palette::{AUTUMN, DESERT, DUSK, JADE, LAMP, MEADOW, SEA};
use crate::scene::{Scene, full_size, placed};
use crate::shapes::beings::{DRAGON, PERSON, SNAIL};
use crate::shapes::built::{CHIMNEY_HOUSE, CLOCK, HOUSE, LADDER, LIGHTED_TOWERS, STAGE};
use crate::shapes::grown::{CACTUS, FLOWERS, PINE, TREE};
use crate::shapes::land::{DUNES, HILLS, PLAIN, RIVER, ROOM, SEA as WAVES};
use crate::shapes::sky::{BIRDS, CLOUD, STARS, STORM, SUN};
use crate::shapes::things::{BALLOON, CHAIR, KITE, KITE_LINE, LIGHTNING, MASK, POUR, STRING_LIGHTS};
use crate::shapes::vessels::{BOAT, HOURGLASS, JAR, TEAPOT};

pub(super) static SCENES: [Scene; 9] = [
    Scene {
        title: "A teapot that pours a river into the valley",
        palette: &MEADOW,
        parts: &[
            placed(CLOUD, 70.0, 60.0, 0.6),
            full_size(HILLS),
            placed(RIVER, 30.0, 0.0, 1.0),
            placed(POUR, 200.0, 150.0, 0.62),
            placed(TEAPOT, 96.0, 170.0, 1.0).turned(24.0),
            placed(PINE, 48.0, 380.0, 0.9),
            placed(HOUSE, 266.0, 350.0, 0.6),
            placed(TREE, 26.0, 396.0, 0.6),
        ],
    },
    Scene {
        title: "A snail with a clock for its shell",
        palette: &AUTUMN,
        parts: &[
            placed(SUN, 230.0, 90.0, 0.9),
            full_size(HILLS),
            placed(TREE, 48.0, 318.0, 1.0),
            placed(SNAIL, 152.0, 386.0, 1.25),
            placed(CLOCK, 168.0, 318.0, 1.8).turned(12.0),
            placed(FLOWERS, 258.0, 404.0, 0.8),
        ],
    },
    Scene {
        title: "An hourglass with a town in it, in the desert",
        palette: &DESERT,
        parts: &[
            placed(SUN, 62.0, 84.0, 0.9),
            full_size(DUNES),
            placed(LIGHTED_TOWERS, 158.0, 316.0, 0.62),
            placed(HOURGLASS, 156.0, 254.0, 1.35),
            placed(PERSON, 254.0, 392.0, 0.7),
        ],
    },
    Scene {
        title: "A cactus with lights on it that holds a balloon",
        palette: &DESERT,
        parts: &[
            placed(SUN, 236.0, 236.0, 1.0),
            placed(BIRDS, 90.0, 96.0, 0.9),
            full_size(DUNES),
            placed(CACTUS, 140.0, 384.0, 1.6),
            placed(BALLOON, 196.0, 156.0, 1.0),
            placed(STRING_LIGHTS, 92.0, 252.0, 0.52),
            placed(CACTUS, 258.0, 388.0, 0.5),
        ],
    },
    Scene {
        title: "A kite that pulls a house across the plain",
        palette: &AUTUMN,
        parts: &[
            placed(CLOUD, 78.0, 72.0, 0.8),
            placed(CLOUD, 262.0, 190.0, 0.6),
            full_size(PLAIN),
            placed(KITE, 214.0, 112.0, 1.0).turned(24.0),
            full_size(KITE_LINE),
            placed(HOUSE, 98.0, 344.0, 1.25).turned(-10.0),
            placed(TREE, 246.0, 372.0, 0.8),
        ],
    },
    Scene {
        title: "A chair as high as a tower, and a ladder to its seat",
        palette: &JADE,
        parts: &[
            placed(CLOUD, 64.0, 90.0, 0.8),
            placed(CLOUD, 250.0, 140.0, 0.6),
            full_size(PLAIN),
            placed(CHAIR, 164.0, 376.0, 1.15),
            placed(LADDER, 82.0, 386.0, 0.82).turned(9.0),
            placed(PERSON, 56.0, 392.0, 0.6),
            placed(BIRDS, 168.0, 66.0, 0.9),
        ],
    },
    Scene {
        title: "A storm in a jar on the table",
        palette: &LAMP,
        parts: &[
            full_size(ROOM),
            placed(STORM, 134.0, 236.0, 0.62),
            placed(STORM, 176.0, 248.0, 0.62),
            placed(LIGHTNING, 142.0, 288.0, 1.0),
            placed(LIGHTNING, 176.0, 298.0, 0.7),
            placed(BOAT, 156.0, 352.0, 0.3),
            placed(JAR, 152.0, 372.0, 1.7),
        ],
    },
    Scene {
        title: "A dragon that rises as smoke from a chimney",
        palette: &DUSK,
        parts: &[
            full_size(STARS),
            full_size(HILLS),
            placed(DRAGON, 124.0, 240.0, 1.0),
            placed(CHIMNEY_HOUSE, 86.0, 372.0, 1.1),
            placed(PINE, 248.0, 380.0, 1.0),
        ],
    },
    Scene {
        title: "A stage whose curtain opens on the sea, and a mask above it",
        palette: &SEA,
        parts: &[
            placed(SUN, 150.0, 262.0, 1.1),
            full_size(WAVES),
            placed(BOAT, 150.0, 334.0, 0.7),
            full_size(STAGE),
            placed(MASK, 150.0, 118.0, 0.62),
        ],
    },
];
