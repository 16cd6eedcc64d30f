//! Cards 19 to 27: at night, and by lamplight.

use crate::palette::{DUSK, JADE, LAMP, NIGHT, ROSE};
use crate::scene::{Scene, at, whole};
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
            whole(RAIN),
            whole(HILLS),
            at(TREE, 44.0, 330.0, 1.2),
            at(LANTERN, 232.0, 376.0, 0.9),
            at(FOX, 158.0, 372.0, 1.2),
            at(UMBRELLA, 150.0, 246.0, 1.7),
            at(OPEN_BOOK, 112.0, 372.0, 0.5),
        ],
    },
    Scene {
        title: "The moon in a birdcage",
        palette: &NIGHT,
        parts: &[
            whole(STARS),
            whole(HILLS),
            at(BARE, 60.0, 360.0, 2.2),
            at(MOON, 184.0, 214.0, 1.1),
            at(BIRDCAGE, 184.0, 266.0, 1.2),
        ],
    },
    Scene {
        title: "A mushroom with a door and a lit window",
        palette: &DUSK,
        parts: &[
            whole(STARS),
            at(CRESCENT, 236.0, 76.0, 0.7),
            whole(HILLS),
            at(PINE, 46.0, 344.0, 1.3),
            at(PINE, 258.0, 350.0, 1.1),
            at(MUSHROOM, 150.0, 380.0, 1.7),
            at(MUSHROOM, 236.0, 396.0, 0.5),
            at(FLOWERS, 70.0, 408.0, 0.9),
        ],
    },
    Scene {
        title: "A cat asleep as large as a hill, with houses on its back",
        palette: &NIGHT,
        parts: &[
            whole(STARS),
            at(MOON, 66.0, 88.0, 0.9),
            whole(HILLS),
            at(HOUSE, 158.0, 276.0, 0.5),
            at(HOUSE, 204.0, 280.0, 0.6),
            at(HOUSE, 240.0, 300.0, 0.45),
            at(TREE, 182.0, 278.0, 0.4),
            at(CAT, 150.0, 386.0, 1.15),
        ],
    },
    Scene {
        title: "A mirror in a dark wood that shows the day",
        palette: &NIGHT,
        parts: &[
            whole(STARS),
            whole(HILLS),
            at(BARE, 40.0, 372.0, 2.6),
            at(BARE, 270.0, 366.0, 2.4).mirrored(),
            at(MIRROR, 152.0, 386.0, 1.25),
            at(MIRRORED_DAY, 152.0, 386.0, 1.16),
        ],
    },
    Scene {
        title: "A candle with windows, and moths around its flame",
        palette: &LAMP,
        parts: &[
            whole(ROOM),
            at(CANDLE, 150.0, 368.0, 1.3),
            at(MOTH, 84.0, 110.0, 0.9).turned(30.0),
            at(MOTH, 222.0, 92.0, 0.8).turned(-24.0),
            at(MOTH, 214.0, 176.0, 0.6).turned(-60.0),
            at(MOTH, 72.0, 190.0, 0.6).turned(64.0),
        ],
    },
    Scene {
        title: "A rocking horse by the sea, under the moon",
        palette: &DUSK,
        parts: &[whole(STARS), at(MOON, 150.0, 120.0, 1.7), whole(SEA), whole(PLAIN), at(HORSE, 150.0, 352.0, 1.05)],
    },
    Scene {
        title: "A gardener who waters the stars",
        palette: &NIGHT,
        parts: &[
            whole(STARS),
            whole(HILLS),
            at(STAR, 222.0, 344.0, 0.9),
            at(STAR, 258.0, 374.0, 0.6),
            at(STAR, 190.0, 386.0, 0.7),
            at(STAR, 244.0, 320.0, 0.4),
            at(PERSON, 96.0, 372.0, 1.7),
            at(CAN, 140.0, 326.0, 0.8).turned(18.0),
        ],
    },
    Scene {
        title: "A rabbit by a lamp, and its shadow is a bear",
        palette: &ROSE,
        parts: &[
            whole(ROOM),
            at(BEAR_SHADOW, 186.0, 330.0, 1.0),
            at(FLOOR_LAMP, 48.0, 378.0, 1.3),
            at(RABBIT, 142.0, 388.0, 0.85),
        ],
    },
];
