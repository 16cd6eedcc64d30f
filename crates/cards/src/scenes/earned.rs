//! Cards 37 to 43: those that are earned.

use crate::palette::{AUTUMN, DUSK, JADE, NIGHT, ROSE, SNOW};
use crate::scene::{Scene, full_size, placed};
use crate::shapes::beings::{BIG_BIRD, HORSE, SITTER, TURTLE};
use crate::shapes::built::{CASTLE, GATE, HOUSE, SWING};
use crate::shapes::grown::{EGG, FLOWERS, PINE, TREE};
use crate::shapes::land::{CLOUDBED, HILLS, ISLAND, PEAKS, SEA, SURF};
use crate::shapes::sky::{BIRDS, CLOUD, COMET, MOONBOAT, SNOWFALL, STAR, STARS, SUN};
use crate::shapes::things::{NEEDLES, WOOL_ROAD};
use crate::shapes::vessels::{BOAT, SNOWGLOBE};

pub(super) static SCENES: [Scene; 7] = [
    Scene {
        title: "A horse that jumps over a comet",
        palette: &NIGHT,
        parts: &[
            full_size(STARS),
            placed(COMET, 84.0, 292.0, 1.15),
            placed(HORSE, 156.0, 190.0, 1.15).turned(-16.0),
            full_size(CLOUDBED),
        ],
    },
    Scene {
        title: "A bird of fire that leaves its egg",
        palette: &DUSK,
        parts: &[
            full_size(STARS),
            full_size(HILLS),
            placed(BIG_BIRD, 144.0, 196.0, 1.45),
            placed(EGG, 158.0, 382.0, 1.1),
        ],
    },
    Scene {
        title: "A castle in a ball of glass, and the winter outside",
        palette: &SNOW,
        parts: &[
            full_size(PEAKS),
            full_size(SNOWFALL),
            placed(CASTLE, 150.0, 318.0, 0.86),
            placed(PINE, 96.0, 330.0, 0.5),
            placed(PINE, 206.0, 330.0, 0.5),
            placed(SNOWGLOBE, 150.0, 350.0, 1.55),
        ],
    },
    Scene {
        title: "A turtle that swims through the sky with a garden on it",
        palette: &ROSE,
        parts: &[
            placed(SUN, 228.0, 84.0, 0.9),
            placed(CLOUD, 66.0, 110.0, 0.8),
            placed(TREE, 122.0, 214.0, 0.85),
            placed(HOUSE, 166.0, 206.0, 0.7),
            placed(TREE, 204.0, 216.0, 0.7),
            placed(FLOWERS, 90.0, 226.0, 0.6),
            placed(TURTLE, 150.0, 264.0, 1.08),
            placed(BIRDS, 244.0, 190.0, 0.8),
            full_size(CLOUDBED),
        ],
    },
    Scene {
        title: "A swing that hangs from the moon above a small island",
        palette: &DUSK,
        parts: &[
            full_size(STARS),
            placed(MOONBOAT, 150.0, 132.0, 1.1),
            placed(SWING, 150.0, 258.0, 1.05),
            placed(SITTER, 146.0, 256.0, 0.8),
            placed(ISLAND, 150.0, 330.0, 1.1),
            placed(TREE, 96.0, 330.0, 0.7),
            placed(FLOWERS, 196.0, 332.0, 0.7),
            placed(STAR, 250.0, 300.0, 0.5),
            placed(STAR, 44.0, 256.0, 0.5),
        ],
    },
    Scene {
        title: "Two needles that knit a road into the valley",
        palette: &AUTUMN,
        parts: &[
            placed(SUN, 66.0, 78.0, 0.8),
            full_size(HILLS),
            placed(WOOL_ROAD, 164.0, 196.0, 1.1),
            placed(NEEDLES, 164.0, 186.0, 1.15),
            placed(TREE, 256.0, 352.0, 0.9),
            placed(HOUSE, 46.0, 350.0, 0.6),
        ],
    },
    Scene {
        title: "A boat before a gate of light in the sea",
        palette: &JADE,
        parts: &[
            full_size(STARS),
            full_size(SEA),
            placed(GATE, 164.0, 330.0, 1.6),
            placed(BOAT, 96.0, 368.0, 0.62),
            full_size(SURF),
        ],
    },
];
