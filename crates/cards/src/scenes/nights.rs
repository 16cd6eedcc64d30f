//! Cards 19 to 27: at night, and by lamplight.

use crate::palette::{DUSK, JADE, LAMP, NIGHT, ROSE};
use crate::scene::{Scene, full_size, placed};
use crate::shapes::beings::{BEAR_SHADOW, CAT, FOX, HORSE, MOTH, PERSON, RABBIT};
use crate::shapes::built::HOUSE;
use crate::shapes::grown::{BARE, FLOWERS, MUSHROOM, PINE, TREE};
use crate::shapes::land::{HILLS, PLAIN, ROOM, SEA};
use crate::shapes::sky::{CRESCENT, MOON, RAIN, STAR, STARS};
use crate::shapes::things::{MIRROR, MIRRORED_DAY, OPEN_BOOK};
use crate::shapes::vessels::{BIRDCAGE, CAN, CANDLE, FLOOR_LAMP, LANTERN, UMBRELLA};

pub(super) static SCENES: [Scene; 9] = [
    Scene {
        title: "A fox that reads under an umbrella, by a lantern, in the rain",
        palette: &JADE,
        parts: &[
            full_size(RAIN),
            full_size(HILLS),
            placed(TREE, 44.0, 330.0, 1.2),
            placed(LANTERN, 232.0, 376.0, 0.9),
            placed(FOX, 158.0, 372.0, 1.2),
            placed(UMBRELLA, 150.0, 246.0, 1.7),
            placed(OPEN_BOOK, 112.0, 372.0, 0.5),
        ],
    },
    Scene {
        title: "The moon in a birdcage",
        palette: &NIGHT,
        parts: &[
            full_size(STARS),
            full_size(HILLS),
            placed(BARE, 60.0, 360.0, 2.2),
            placed(MOON, 184.0, 214.0, 1.1),
            placed(BIRDCAGE, 184.0, 266.0, 1.2),
        ],
    },
    Scene {
        title: "A mushroom with a door and a lit window",
        palette: &DUSK,
        parts: &[
            full_size(STARS),
            placed(CRESCENT, 236.0, 76.0, 0.7),
            full_size(HILLS),
            placed(PINE, 46.0, 344.0, 1.3),
            placed(PINE, 258.0, 350.0, 1.1),
            placed(MUSHROOM, 150.0, 380.0, 1.7),
            placed(MUSHROOM, 236.0, 396.0, 0.5),
            placed(FLOWERS, 70.0, 408.0, 0.9),
        ],
    },
    Scene {
        title: "A cat asleep as large as a hill, with houses on its back",
        palette: &NIGHT,
        parts: &[
            full_size(STARS),
            placed(MOON, 66.0, 88.0, 0.9),
            full_size(HILLS),
            placed(HOUSE, 158.0, 276.0, 0.5),
            placed(HOUSE, 204.0, 280.0, 0.6),
            placed(HOUSE, 240.0, 300.0, 0.45),
            placed(TREE, 182.0, 278.0, 0.4),
            placed(CAT, 150.0, 386.0, 1.15),
        ],
    },
    Scene {
        title: "A mirror in a dark wood that shows the day",
        palette: &NIGHT,
        parts: &[
            full_size(STARS),
            full_size(HILLS),
            placed(BARE, 40.0, 372.0, 2.6),
            placed(BARE, 270.0, 366.0, 2.4).mirrored(),
            placed(MIRROR, 152.0, 386.0, 1.25),
            placed(MIRRORED_DAY, 152.0, 386.0, 1.16),
        ],
    },
    Scene {
        title: "A candle with windows, and moths around its flame",
        palette: &LAMP,
        parts: &[
            full_size(ROOM),
            placed(CANDLE, 150.0, 368.0, 1.3),
            placed(MOTH, 84.0, 110.0, 0.9).turned(30.0),
            placed(MOTH, 222.0, 92.0, 0.8).turned(-24.0),
            placed(MOTH, 214.0, 176.0, 0.6).turned(-60.0),
            placed(MOTH, 72.0, 190.0, 0.6).turned(64.0),
        ],
    },
    Scene {
        title: "A rocking horse by the sea, under the moon",
        palette: &DUSK,
        parts: &[
            full_size(STARS),
            placed(MOON, 150.0, 120.0, 1.7),
            full_size(SEA),
            full_size(PLAIN),
            placed(HORSE, 150.0, 352.0, 1.05),
        ],
    },
    Scene {
        title: "A gardener who waters the stars",
        palette: &NIGHT,
        parts: &[
            full_size(STARS),
            full_size(HILLS),
            placed(STAR, 222.0, 344.0, 0.9),
            placed(STAR, 258.0, 374.0, 0.6),
            placed(STAR, 190.0, 386.0, 0.7),
            placed(STAR, 244.0, 320.0, 0.4),
            placed(PERSON, 96.0, 372.0, 1.7),
            placed(CAN, 140.0, 326.0, 0.8).turned(18.0),
        ],
    },
    Scene {
        title: "A rabbit by a lamp, and its shadow is a bear",
        palette: &ROSE,
        parts: &[
            full_size(ROOM),
            placed(BEAR_SHADOW, 186.0, 330.0, 1.0),
            placed(FLOOR_LAMP, 48.0, 378.0, 1.3),
            placed(RABBIT, 142.0, 388.0, 0.85),
        ],
    },
];
