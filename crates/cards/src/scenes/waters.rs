//! Cards 1 to 9: at the sea and below it.

use crate::palette::{DAWN, DEEP, DUSK, JADE, NIGHT, SEA};
use crate::scene::{Scene, full_size, placed};
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
            full_size(STARS),
            placed(CRESCENT, 64.0, 80.0, 0.8),
            placed(BEAM, 158.0, 138.0, 1.1),
            full_size(WAVES),
            placed(ROCK, 158.0, 330.0, 1.3),
            placed(BOOK_TOWER, 158.0, 290.0, 0.95),
            full_size(SURF),
        ],
    },
    Scene {
        title: "A whale that carries a village on its back",
        palette: &SEA,
        parts: &[
            placed(SUN, 232.0, 84.0, 0.9),
            placed(CLOUD, 74.0, 86.0, 0.8),
            placed(CLOUD, 178.0, 142.0, 0.5),
            full_size(WAVES),
            placed(HOUSE, 112.0, 268.0, 0.75),
            placed(HOUSE, 158.0, 258.0, 1.0),
            placed(TREE, 200.0, 268.0, 0.7),
            placed(HOUSE, 224.0, 276.0, 0.6),
            placed(TREE, 84.0, 276.0, 0.45),
            placed(WHALE, 142.0, 310.0, 0.94),
            full_size(SURF),
        ],
    },
    Scene {
        title: "A boat that fishes for stars",
        palette: &NIGHT,
        parts: &[
            full_size(STARS),
            placed(STAR, 224.0, 70.0, 1.0),
            placed(STAR, 96.0, 110.0, 0.7),
            full_size(WAVES),
            placed(STAR, 232.0, 300.0, 0.8),
            placed(STAR, 62.0, 356.0, 0.6),
            placed(BOAT, 148.0, 316.0, 1.1),
            placed(SITTER, 176.0, 302.0, 0.8),
            placed(FISHING, 194.0, 282.0, 0.8),
            placed(STAR, 240.0, 352.0, 0.6),
            full_size(SURF),
        ],
    },
    Scene {
        title: "An octopus that juggles planets",
        palette: &DEEP,
        parts: &[
            full_size(SEABED),
            placed(PLANET, 62.0, 210.0, 1.0),
            placed(GLOBE, 238.0, 206.0, 1.1),
            placed(PLANET, 150.0, 96.0, 1.2).turned(-30.0),
            placed(GLOBE, 74.0, 116.0, 0.8),
            placed(MOON, 226.0, 112.0, 0.5),
            placed(OCTOPUS, 150.0, 300.0, 1.05),
        ],
    },
    Scene {
        title: "A sleeper whose bed drifts on the sea",
        palette: &DAWN,
        parts: &[
            placed(SUN, 90.0, 250.0, 1.2),
            placed(BIRDS, 220.0, 110.0, 1.0),
            placed(CLOUD, 226.0, 176.0, 0.7),
            full_size(WAVES),
            placed(BED, 152.0, 346.0, 1.25).turned(-4.0),
            full_size(SURF),
        ],
    },
    Scene {
        title: "A rabbit at sea in an umbrella, in the rain",
        palette: &JADE,
        parts: &[
            placed(STORM, 84.0, 66.0, 1.3),
            placed(STORM, 220.0, 90.0, 1.1),
            full_size(RAIN),
            full_size(WAVES),
            placed(RABBIT, 156.0, 312.0, 0.85),
            placed(UMBRELLA_BOAT, 150.0, 322.0, 1.3),
            full_size(SURF),
        ],
    },
    Scene {
        title: "A crown at the bottom of the sea, and fishes around it",
        palette: &DEEP,
        parts: &[
            full_size(SEABED),
            placed(CROWN, 150.0, 350.0, 1.1).turned(-9.0),
            placed(FISH, 84.0, 230.0, 1.3),
            placed(FISH, 214.0, 180.0, 1.0).mirrored(),
            placed(FISH, 130.0, 130.0, 0.8),
            placed(FISH, 226.0, 270.0, 1.2).mirrored(),
            placed(JELLY, 56.0, 108.0, 0.9),
            placed(JELLY, 252.0, 92.0, 0.7),
        ],
    },
    Scene {
        title: "A piano on the beach that plays to the sea",
        palette: &DUSK,
        parts: &[
            placed(SUN, 150.0, 250.0, 1.4),
            full_size(WAVES),
            full_size(SAND),
            placed(PIANO, 142.0, 384.0, 1.0),
            placed(CLEF, 90.0, 230.0, 1.2).turned(-8.0),
            placed(CLEF, 200.0, 190.0, 1.5).turned(12.0),
            placed(CLEF, 140.0, 130.0, 1.0),
            placed(CLEF, 238.0, 110.0, 0.8).turned(-14.0),
        ],
    },
    Scene {
        title: "A ship in a bottle, and the bottle on the waves",
        palette: &SEA,
        parts: &[
            placed(CLOUD, 80.0, 90.0, 0.9),
            placed(BIRDS, 220.0, 130.0, 1.1),
            full_size(WAVES),
            placed(BOAT, 136.0, 296.0, 0.52),
            placed(BOTTLE, 158.0, 292.0, 1.15).turned(-7.0),
            full_size(SURF),
        ],
    },
];
