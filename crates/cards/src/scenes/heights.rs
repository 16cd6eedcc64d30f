//! Cards 10 to 18: in the sky, on mountains, between cliffs.

use crate::palette::{AUTUMN, DAWN, MEADOW, ROSE, SEA, SNOW};
use crate::scene::{Scene, full_size, placed};
use crate::shapes::beings::{ELEPHANT, GIRAFFE, PERSON};
use crate::shapes::built::{BRIDGE_QUILL, CASTLE, DOOR, HOUSE, KEYHOLE, LADDER, STAIRS, TOWER};
use crate::shapes::grown::{BALLOON_TREE, FLOWERS, PINE, TREE};
use crate::shapes::land::{CLIFFS, CLOUDBED, HILLS, PEAKS, PLAIN};
use crate::shapes::sky::{BIRDS, CLOUD, PUFF, RAINBOW, SNOWFALL, SUN};
use crate::shapes::things::{ANCHOR, CHAIN, ROPE};
use crate::shapes::vessels::{AIRSHIP_FISH, TRAIN, UMBRELLA};

pub(super) static SCENES: [Scene; 9] = [
    Scene {
        title: "A door that stands open in the sky, and a ladder to it",
        palette: &DAWN,
        parts: &[
            placed(CLOUD, 60.0, 70.0, 0.7),
            placed(CLOUD, 246.0, 112.0, 0.9),
            placed(LADDER, 150.0, 420.0, 1.15),
            placed(DOOR, 150.0, 206.0, 1.15),
            placed(CLOUD, 122.0, 224.0, 1.0),
            placed(CLOUD, 192.0, 230.0, 0.8),
            full_size(CLOUDBED),
        ],
    },
    Scene {
        title: "A tree of balloons that lifts a hill's house",
        palette: &MEADOW,
        parts: &[
            placed(SUN, 60.0, 70.0, 0.7),
            full_size(HILLS),
            placed(BALLOON_TREE, 158.0, 258.0, 1.35),
            placed(HOUSE, 158.0, 312.0, 0.8),
            placed(BIRDS, 240.0, 210.0, 0.8),
            placed(FLOWERS, 70.0, 400.0, 0.9),
            placed(FLOWERS, 240.0, 408.0, 0.8),
        ],
    },
    Scene {
        title: "A fish that is a balloon and carries a basket over the hills",
        palette: &ROSE,
        parts: &[
            placed(SUN, 228.0, 250.0, 0.8),
            placed(CLOUD, 70.0, 90.0, 0.8),
            placed(CLOUD, 240.0, 90.0, 0.6),
            full_size(HILLS),
            placed(AIRSHIP_FISH, 156.0, 172.0, 1.2),
            placed(PERSON, 152.0, 268.0, 0.4),
        ],
    },
    Scene {
        title: "An elephant on a rope between two cliffs, with an umbrella",
        palette: &AUTUMN,
        parts: &[
            placed(SUN, 150.0, 96.0, 1.0),
            placed(BIRDS, 236.0, 120.0, 0.9),
            full_size(CLIFFS),
            placed(ROPE, 0.0, 24.0, 1.0),
            placed(ELEPHANT, 152.0, 246.0, 0.9),
            placed(UMBRELLA, 108.0, 158.0, 0.62).turned(-10.0),
        ],
    },
    Scene {
        title: "A giraffe that looks out of the clouds, birds on its horns",
        palette: &SEA,
        parts: &[
            placed(SUN, 236.0, 80.0, 0.8),
            placed(GIRAFFE, 164.0, 420.0, 1.35),
            placed(BIRDS, 150.0, 108.0, 0.8),
            placed(CLOUD, 66.0, 250.0, 0.9),
            placed(CLOUD, 250.0, 290.0, 0.7),
            full_size(CLOUDBED),
        ],
    },
    Scene {
        title: "A staircase up to a keyhole in the sky",
        palette: &ROSE,
        parts: &[
            placed(CLOUD, 66.0, 110.0, 0.8),
            placed(KEYHOLE, 226.0, 150.0, 1.3),
            placed(STAIRS, 132.0, 304.0, 1.0),
            placed(STAIRS, 4.0, 418.0, 1.0),
            placed(PERSON, 132.0, 236.0, 0.7),
            full_size(CLOUDBED),
        ],
    },
    Scene {
        title: "A train that runs over a rainbow",
        palette: &MEADOW,
        parts: &[
            placed(CLOUD, 76.0, 80.0, 0.8),
            full_size(RAINBOW),
            placed(TRAIN, 164.0, 176.0, 0.95),
            placed(PUFF, 196.0, 92.0, 0.8),
            placed(PUFF, 216.0, 70.0, 1.0),
            placed(PUFF, 242.0, 50.0, 1.3),
            full_size(PLAIN),
            placed(TREE, 80.0, 372.0, 0.7),
            placed(TREE, 220.0, 380.0, 0.9),
            placed(PINE, 252.0, 376.0, 0.6),
        ],
    },
    Scene {
        title: "An anchor that hangs from the clouds above a snowy valley",
        palette: &SNOW,
        parts: &[
            full_size(PEAKS),
            placed(CHAIN, 150.0, 190.0, 1.3),
            placed(ANCHOR, 150.0, 258.0, 1.2),
            placed(CLOUD, 110.0, 60.0, 1.3),
            placed(CLOUD, 196.0, 66.0, 1.2),
            full_size(SNOWFALL),
            placed(HOUSE, 64.0, 400.0, 0.6),
            placed(PINE, 238.0, 402.0, 0.8),
            placed(PINE, 266.0, 406.0, 0.6),
        ],
    },
    Scene {
        title: "A bridge made of a feather between two castles",
        palette: &DAWN,
        parts: &[
            placed(SUN, 150.0, 110.0, 0.9),
            full_size(CLIFFS),
            placed(CASTLE, 36.0, 240.0, 0.62),
            placed(TOWER, 266.0, 240.0, 0.9),
            placed(BRIDGE_QUILL, 152.0, 254.0, 0.92),
            placed(PERSON, 140.0, 236.0, 0.5),
        ],
    },
];
