//! Cards 1 to 9: at the sea and below it.

use crate::palette::{DAWN, DEEP, DUSK, JADE, NIGHT, SEA};
use crate::scene::{Scene, at, whole};
use crate::shapes::beings::{FISH, JELLY, OCTOPUS, RABBIT, SITTER, WHALE};
use crate::shapes::built::{BOOK_TOWER, HOUSE};
use crate::shapes::grown::TREE;
use crate::shapes::land::{ROCK, SEA as WAVES, SEABED, SURF};
use crate::shapes::sky::{BEAM, BIRDS, CLOUD, CRESCENT, GLOBE, MOON, PLANET, RAIN, STAR, STARS, STORM, SUN};
use crate::shapes::things::{CLEF, CROWN, FISHING, PIANO, SAND};
use crate::shapes::vessels::{BED, BOAT, BOTTLE, UMBRELLA_BOAT};

pub(super) static SCENES: [Scene; 9] = [
    Scene {
        title: "A lighthouse built of books on a rock in the sea",
        palette: &DUSK,
        parts: &[
            whole(STARS),
            at(CRESCENT, 64.0, 80.0, 0.8),
            at(BEAM, 158.0, 138.0, 1.1),
            whole(WAVES),
            at(ROCK, 158.0, 330.0, 1.3),
            at(BOOK_TOWER, 158.0, 290.0, 0.95),
            whole(SURF),
        ],
    },
    Scene {
        title: "A whale that carries a village on its back",
        palette: &SEA,
        parts: &[
            at(SUN, 232.0, 84.0, 0.9),
            at(CLOUD, 74.0, 86.0, 0.8),
            at(CLOUD, 178.0, 142.0, 0.5),
            whole(WAVES),
            at(HOUSE, 112.0, 268.0, 0.75),
            at(HOUSE, 158.0, 258.0, 1.0),
            at(TREE, 200.0, 268.0, 0.7),
            at(HOUSE, 224.0, 276.0, 0.6),
            at(TREE, 84.0, 276.0, 0.45),
            at(WHALE, 142.0, 310.0, 0.94),
            whole(SURF),
        ],
    },
    Scene {
        title: "A boat that fishes for stars",
        palette: &NIGHT,
        parts: &[
            whole(STARS),
            at(STAR, 224.0, 70.0, 1.0),
            at(STAR, 96.0, 110.0, 0.7),
            whole(WAVES),
            at(STAR, 232.0, 300.0, 0.8),
            at(STAR, 62.0, 356.0, 0.6),
            at(BOAT, 148.0, 316.0, 1.1),
            at(SITTER, 176.0, 302.0, 0.8),
            at(FISHING, 194.0, 282.0, 0.8),
            at(STAR, 240.0, 352.0, 0.6),
            whole(SURF),
        ],
    },
    Scene {
        title: "An octopus that juggles planets",
        palette: &DEEP,
        parts: &[
            whole(SEABED),
            at(PLANET, 62.0, 210.0, 1.0),
            at(GLOBE, 238.0, 206.0, 1.1),
            at(PLANET, 150.0, 96.0, 1.2).turned(-30.0),
            at(GLOBE, 74.0, 116.0, 0.8),
            at(MOON, 226.0, 112.0, 0.5),
            at(OCTOPUS, 150.0, 300.0, 1.05),
        ],
    },
    Scene {
        title: "A sleeper whose bed drifts on the sea",
        palette: &DAWN,
        parts: &[
            at(SUN, 90.0, 250.0, 1.2),
            at(BIRDS, 220.0, 110.0, 1.0),
            at(CLOUD, 226.0, 176.0, 0.7),
            whole(WAVES),
            at(BED, 152.0, 346.0, 1.25).turned(-4.0),
            whole(SURF),
        ],
    },
    Scene {
        title: "A rabbit at sea in an umbrella, in the rain",
        palette: &JADE,
        parts: &[
            at(STORM, 84.0, 66.0, 1.3),
            at(STORM, 220.0, 90.0, 1.1),
            whole(RAIN),
            whole(WAVES),
            at(RABBIT, 156.0, 312.0, 0.85),
            at(UMBRELLA_BOAT, 150.0, 322.0, 1.3),
            whole(SURF),
        ],
    },
    Scene {
        title: "A crown at the bottom of the sea, and fishes around it",
        palette: &DEEP,
        parts: &[
            whole(SEABED),
            at(CROWN, 150.0, 350.0, 1.1).turned(-9.0),
            at(FISH, 84.0, 230.0, 1.3),
            at(FISH, 214.0, 180.0, 1.0).mirrored(),
            at(FISH, 130.0, 130.0, 0.8),
            at(FISH, 226.0, 270.0, 1.2).mirrored(),
            at(JELLY, 56.0, 108.0, 0.9),
            at(JELLY, 252.0, 92.0, 0.7),
        ],
    },
    Scene {
        title: "A piano on the beach that plays to the sea",
        palette: &DUSK,
        parts: &[
            at(SUN, 150.0, 250.0, 1.4),
            whole(WAVES),
            whole(SAND),
            at(PIANO, 142.0, 384.0, 1.0),
            at(CLEF, 90.0, 230.0, 1.2).turned(-8.0),
            at(CLEF, 200.0, 190.0, 1.5).turned(12.0),
            at(CLEF, 140.0, 130.0, 1.0),
            at(CLEF, 238.0, 110.0, 0.8).turned(-14.0),
        ],
    },
    Scene {
        title: "A ship in a bottle, and the bottle on the waves",
        palette: &SEA,
        parts: &[
            at(CLOUD, 80.0, 90.0, 0.9),
            at(BIRDS, 220.0, 130.0, 1.1),
            whole(WAVES),
            at(BOAT, 136.0, 296.0, 0.52),
            at(BOTTLE, 158.0, 292.0, 1.15).turned(-7.0),
            whole(SURF),
        ],
    },
];
