//! Cards 10 to 18: in the sky, on mountains, between cliffs.

use crate::palette::{AUTUMN, DAWN, MEADOW, ROSE, SEA, SNOW};
use crate::scene::{Scene, at, whole};
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
            at(CLOUD, 60.0, 70.0, 0.7),
            at(CLOUD, 246.0, 112.0, 0.9),
            at(LADDER, 150.0, 420.0, 1.15),
            at(DOOR, 150.0, 206.0, 1.15),
            at(CLOUD, 122.0, 224.0, 1.0),
            at(CLOUD, 192.0, 230.0, 0.8),
            whole(CLOUDBED),
        ],
    },
    Scene {
        title: "A tree of balloons that lifts a hill's house",
        palette: &MEADOW,
        parts: &[
            at(SUN, 60.0, 70.0, 0.7),
            whole(HILLS),
            at(BALLOON_TREE, 158.0, 258.0, 1.35),
            at(HOUSE, 158.0, 312.0, 0.8),
            at(BIRDS, 240.0, 210.0, 0.8),
            at(FLOWERS, 70.0, 400.0, 0.9),
            at(FLOWERS, 240.0, 408.0, 0.8),
        ],
    },
    Scene {
        title: "A fish that is a balloon and carries a basket over the hills",
        palette: &ROSE,
        parts: &[
            at(SUN, 228.0, 250.0, 0.8),
            at(CLOUD, 70.0, 90.0, 0.8),
            at(CLOUD, 240.0, 90.0, 0.6),
            whole(HILLS),
            at(AIRSHIP_FISH, 156.0, 172.0, 1.2),
            at(PERSON, 152.0, 268.0, 0.4),
        ],
    },
    Scene {
        title: "An elephant on a rope between two cliffs, with an umbrella",
        palette: &AUTUMN,
        parts: &[
            at(SUN, 150.0, 96.0, 1.0),
            at(BIRDS, 236.0, 120.0, 0.9),
            whole(CLIFFS),
            at(ROPE, 0.0, 24.0, 1.0),
            at(ELEPHANT, 152.0, 246.0, 0.9),
            at(UMBRELLA, 108.0, 158.0, 0.62).turned(-10.0),
        ],
    },
    Scene {
        title: "A giraffe that looks out of the clouds, birds on its horns",
        palette: &SEA,
        parts: &[
            at(SUN, 236.0, 80.0, 0.8),
            at(GIRAFFE, 164.0, 420.0, 1.35),
            at(BIRDS, 150.0, 108.0, 0.8),
            at(CLOUD, 66.0, 250.0, 0.9),
            at(CLOUD, 250.0, 290.0, 0.7),
            whole(CLOUDBED),
        ],
    },
    Scene {
        title: "A staircase up to a keyhole in the sky",
        palette: &ROSE,
        parts: &[
            at(CLOUD, 66.0, 110.0, 0.8),
            at(KEYHOLE, 226.0, 150.0, 1.3),
            at(STAIRS, 132.0, 304.0, 1.0),
            at(STAIRS, 4.0, 418.0, 1.0),
            at(PERSON, 132.0, 236.0, 0.7),
            whole(CLOUDBED),
        ],
    },
    Scene {
        title: "A train that runs over a rainbow",
        palette: &MEADOW,
        parts: &[
            at(CLOUD, 76.0, 80.0, 0.8),
            whole(RAINBOW),
            at(TRAIN, 164.0, 176.0, 0.95),
            at(PUFF, 196.0, 92.0, 0.8),
            at(PUFF, 216.0, 70.0, 1.0),
            at(PUFF, 242.0, 50.0, 1.3),
            whole(PLAIN),
            at(TREE, 80.0, 372.0, 0.7),
            at(TREE, 220.0, 380.0, 0.9),
            at(PINE, 252.0, 376.0, 0.6),
        ],
    },
    Scene {
        title: "An anchor that hangs from the clouds above a snowy valley",
        palette: &SNOW,
        parts: &[
            whole(PEAKS),
            at(CHAIN, 150.0, 190.0, 1.3),
            at(ANCHOR, 150.0, 258.0, 1.2),
            at(CLOUD, 110.0, 60.0, 1.3),
            at(CLOUD, 196.0, 66.0, 1.2),
            whole(SNOWFALL),
            at(HOUSE, 64.0, 400.0, 0.6),
            at(PINE, 238.0, 402.0, 0.8),
            at(PINE, 266.0, 406.0, 0.6),
        ],
    },
    Scene {
        title: "A bridge made of a feather between two castles",
        palette: &DAWN,
        parts: &[
            at(SUN, 150.0, 110.0, 0.9),
            whole(CLIFFS),
            at(CASTLE, 36.0, 240.0, 0.62),
            at(TOWER, 266.0, 240.0, 0.9),
            at(BRIDGE_QUILL, 152.0, 254.0, 0.92),
            at(PERSON, 140.0, 236.0, 0.5),
        ],
    },
];
