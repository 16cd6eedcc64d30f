//! What is told about each card, by hand: the entry of each card stands under its title. Lists are separated by ` | `.

use super::Idea::{
    Above, Alone, Balance, Dream, Drifting, Flame, Flight, Growing, Home, Journey, KeptInside, LightInTheDark,
    OutOfPlace, Performance, Sizes, Threshold, Time, Toys, Treasure, TwoThings, Weather,
};
use super::Scene;

/// By card, the first is card 1.
pub(crate) static DECK: [Scene; 43] = [
    // 1: A lighthouse built of books on a rock in the sea
    Scene {
        seen: "a lighthouse | a tower of books | a lighthouse on a rock | a beam of light over the sea",
        happens: "A tower of books shines out over the sea. | The lighthouse is built of books. | \
                  The books keep the light burning on their rock.",
        moods: "watchful | steadfast | learned",
        reminds: "Every chapter keeps somebody from harm. | Whoever reads will not be lost. | \
                  Wisdom is easy to see from far away. | The library stays open all night.",
        words: "library read reading novel page story beacon guide ship coast crescent moon night warning",
        ideas: &[LightInTheDark, Alone, TwoThings],
    },
    // 2: A whale that carries a village on its back
    Scene {
        seen: "a whale | a village on a whale | a whale with houses on its back | a red roof above the sea",
        happens: "The whale carries a village on its back. | The houses go wherever the whale swims. | \
                  A village rides out to sea.",
        moods: "gentle | patient | generous",
        reminds: "The ground under us is breathing. | Our town never stays in one place. | \
                  Somebody strong bears it all without complaint. | The mayor asks you not to dive.",
        words: "fish swim ocean island town houses carry ride tree blue sunny big giant neighbour",
        ideas: &[Drifting, Home, Sizes],
    },
    // 3: A boat that fishes for stars
    Scene {
        seen: "a boat at night | a star on a hook | a fisher of stars | a little sailing boat under the stars",
        happens: "Somebody fishes for stars from a boat. | Tonight the stars are biting. | \
                  A star hangs on the line of the little boat.",
        moods: "hopeful | hushed | wishful",
        reminds: "A good catch, and it is still glowing. | Make a wish, and pull. | \
                  What you reach for may take the bait. | The heavens have come down to swim.",
        words: "fishing rod sail sea night sky angler catch wish shine glow hook line sailor water",
        ideas: &[Drifting, LightInTheDark, Alone, Dream, Journey, Treasure],
    },
    // 4: An octopus that juggles planets
    Scene {
        seen: "an octopus | a planet with a ring | an octopus with eight busy arms | a juggler of planets",
        happens: "The octopus juggles planets. | Every arm of the octopus has a planet to catch. | \
                  Planets fly about under the sea.",
        moods: "playful | nimble | busy",
        reminds: "Too many worlds, and just enough hands. | Astronomers would be upset. | \
                  Multitasking is a gift. | The universe is only a game of catch.",
        words: "juggle juggler circus space saturn arms tentacles moon ball world deep sea universe throw hand",
        ideas: &[OutOfPlace, Balance, Performance],
    },
    // 5: A sleeper whose bed drifts on the sea
    Scene {
        seen: "a bed on the sea | a sleeper under a red blanket | a bed that drifts | somebody asleep on the waves",
        happens: "A bed drifts out on the sea. | The sleeper does not notice the waves. | \
                  Somebody sleeps while the bed floats away.",
        moods: "drowsy | carefree | dreamy",
        reminds: "I will get up when I reach the shore. | The alarm clock fell overboard. | \
                  Last night carried me further than I thought. | Five more minutes, captain.",
        words: "sleep sleeping asleep dream nap pillow blanket float ocean wave sunset sunrise morning lazy rest",
        ideas: &[Drifting, Dream, Alone, OutOfPlace],
    },
    // 6: A rabbit at sea in an umbrella, in the rain
    Scene {
        seen: "a rabbit in an umbrella | a rabbit at sea | an umbrella that floats | an orange umbrella in the rain",
        happens: "A rabbit sails through the rain in an umbrella. | The umbrella has become the boat of a rabbit. | \
                  It rains on the rabbit all the way.",
        moods: "soaked | plucky | resourceful",
        reminds: "You make do with what you have. | Captain Longears reports a wet deck. | \
                  Use it the wrong way up, and it works. | The flood spared one of us.",
        words: "bunny hare boat sail sailor storm wet water shower upside down captain flood drop cloud brave",
        ideas: &[Drifting, Weather, Balance, Alone],
    },
    // 7: A crown at the bottom of the sea, and fishes around it
    Scene {
        seen: "a crown | a crown under water | a shoal of fishes | a crown on the bottom of the sea",
        happens: "Fishes swim around a crown. | A crown lies at the bottom of the sea. | \
                  The fishes guard the crown.",
        moods: "forgotten | sunken | noble",
        reminds: "The old king went down with his pride. | His subjects have scales now. | \
                  Whoever dives may rule. | Power sinks like everything else.",
        words: "king queen royal gold jewel treasure sunken jellyfish deep ocean water rule diver lost",
        ideas: &[OutOfPlace, Treasure],
    },
    // 8: A piano on the beach that plays to the sea
    Scene {
        seen: "a piano | a piano on the beach | a tune above the waves | a sheet of music by the sea",
        happens: "A piano plays to the sea. | Notes rise from the piano on the beach. | \
                  The sea listens to a piano.",
        moods: "melodious | wistful | moonstruck",
        reminds: "The tide hums along. | A concert without a single chair. | \
                  Salt is bad for the keys. | The song that the evening asked for.",
        words: "music song note tune concert sand shore coast sunset key melody musician play listen wave",
        ideas: &[Performance, OutOfPlace],
    },
    // 9: A ship in a bottle, and the bottle on the waves
    Scene {
        seen: "a ship in a bottle | a bottle on the waves | a bottle with a red cork | a ship behind glass",
        happens: "A ship sails inside a bottle. | The bottle rides on the waves, and the ship rides in it. | \
                  The ship has a sea of its own in the bottle.",
        moods: "sheltered | curious | adrift",
        reminds: "No storm can reach the crew. | A message that nobody has to write. | \
                  The captain wonders about the cork. | The model wanted to see the real thing.",
        words: "boat sail glass cork message sea ocean water inside float model captain trapped adrift",
        ideas: &[Drifting, KeptInside, Treasure, Journey],
    },
    // 10: A door that stands open in the sky, and a ladder to it
    Scene {
        seen: "a door in the sky | a ladder to a door | an open red door | a doorway on a cloud",
        happens: "A door stands open in the sky. | A ladder leads up to the door. | \
                  Somebody left the door open above the clouds.",
        moods: "inviting | airy | expectant",
        reminds: "Come in, and mind the drop. | Heaven forgot to lock up. | \
                  Whoever lives there gets no post. | The best rooms are upstairs.",
        words: "gate entrance cloud climb heaven way up enter doorway threshold red key exit welcome",
        ideas: &[Above, Threshold, OutOfPlace],
    },
    // 11: A tree of balloons that lifts a hill's house
    Scene {
        seen: "a tree of balloons | a house under balloons | a bunch of balloons | a house that is lifted from its hill",
        happens: "A tree of balloons lifts the house. | The house leaves its hill by balloon. | \
                  Balloons grow above the house.",
        moods: "festive | buoyant | lighthearted",
        reminds: "Moving day was easier than we thought. | The landlord will want it back. | \
                  Pack nothing heavy. | We planted a party.",
        words: "balloon fly float air home lift colour colourful party birthday rise cottage flower branch",
        ideas: &[Home, Flight, Toys, TwoThings, Growing],
    },
    // 12: A fish that is a balloon and carries a basket over the hills
    Scene {
        seen: "a fish in the air | a basket under a fish | a golden fish above the hills | an airship with fins",
        happens: "A fish carries a basket over the hills. | The balloon is a fish. | \
                  Two travellers ride in a basket under a fish.",
        moods: "breezy | whimsical | lofty",
        reminds: "It never liked the water anyway. | Fins are only another kind of wings. | \
                  The pilot feeds it crumbs. | Passengers are asked not to tickle the engine.",
        words: "airship fly flight swim goldfish travel traveller float sky aircraft scales balloon ride zeppelin",
        ideas: &[Flight, TwoThings, Journey, OutOfPlace],
    },
    // 13: An elephant on a rope between two cliffs, with an umbrella
    Scene {
        seen: "an elephant on a rope | an elephant with an umbrella | a rope between two cliffs | an elephant above the gap",
        happens: "An elephant walks a rope with an umbrella. | The rope between the cliffs bears an elephant. | \
                  The elephant is halfway across the gap.",
        moods: "daring | poised | dignified",
        reminds: "Heavy thoughts, light feet. | The circus never paid for a net. | \
                  Courage weighs several tons. | Nobody told him that it was impossible.",
        words: "tightrope balance circus walk cross canyon abyss parasol trunk heavy careful brave acrobat gap",
        ideas: &[Balance, Sizes, Performance],
    },
    // 14: A giraffe that looks out of the clouds, birds on its horns
    Scene {
        seen: "a giraffe | a giraffe above the clouds | a bird on a horn | a very long neck",
        happens: "A giraffe looks out of the clouds. | Birds sit on the horns of the giraffe. | \
                  The neck of the giraffe goes right through the clouds.",
        moods: "aloof | serene | sunlit",
        reminds: "The view is worth the stiff neck. | Somebody has outgrown the weather. | \
                  Your head is where it always is. | No rain up there, ever.",
        words: "neck tall high long bird sky cloud sun animal view above head savanna spots",
        ideas: &[Above, Sizes, Alone],
    },
    // 15: A staircase up to a keyhole in the sky
    Scene {
        seen: "a staircase | a keyhole in the sky | a staircase into the clouds | a climber in yellow",
        happens: "A staircase leads up to a keyhole. | Somebody climbs the stairs to the sky. | \
                  The keyhole shines at the top of the staircase.",
        moods: "secretive | eager | determined",
        reminds: "I only want to peep through. | The answer is at the top. | \
                  Whoever has the key is not in a hurry. | Curiosity wears out its shoes.",
        words: "stairs steps climb key lock secret door peep top ascend up cloud light mystery unlock",
        ideas: &[Above, Threshold, Balance],
    },
    // 16: A train that runs over a rainbow
    Scene {
        seen: "a train | a rainbow | a train on a rainbow | an engine with a plume of steam",
        happens: "A train runs over a rainbow. | The rainbow is a bridge for a train. | \
                  The engine puffs along the rainbow.",
        moods: "cheerful | colourful | punctual",
        reminds: "The line with seven tracks. | Next stop: the pot of gold. | \
                  All aboard, the shower is over. | A commute worth getting up for.",
        words: "railway engine locomotive steam wagon colour bridge arch track travel station ride conductor",
        ideas: &[Above, Toys, Journey],
    },
    // 17: An anchor that hangs from the clouds above a snowy valley
    Scene {
        seen: "an anchor | an anchor in the sky | an anchor on a chain | an anchor above a snowy valley",
        happens: "An anchor hangs from the clouds. | Somewhere above the valley something has dropped anchor. | \
                  The chain of the anchor goes up into the clouds.",
        moods: "heavy | wintry | ominous",
        reminds: "Whose ship is up there? | The captain likes it here. | \
                  The heavens are moored for the night. | The visitors have parked.",
        words: "ship chain iron hang snow winter mountain cold sky boat moor valley harbour weight",
        ideas: &[Above, Weather, OutOfPlace],
    },
    // 18: A bridge made of a feather between two castles
    Scene {
        seen: "a feather | a bridge made of a feather | a white feather between two towers | a traveller on a feather",
        happens: "A feather is the bridge between two castles. | Somebody crosses the gap on a feather. | \
                  Two castles are joined by a feather.",
        moods: "delicate | trusting | weightless",
        reminds: "Tread lightly, and forgive them. | Peace hangs by very little. | \
                  The quill has ended the war. | Only the lighthearted get across.",
        words: "cross crossing quill bird light castle tower canyon walk fragile peace gap wing abyss plume",
        ideas: &[Balance, Journey, TwoThings],
    },
    // 19: A fox that reads under an umbrella, by a lantern, in the rain
    Scene {
        seen: "a fox with a book | a lantern in the rain | a fox under an umbrella | an orange umbrella",
        happens: "A fox reads by the light of a lantern. | It rains, and the fox reads on. | \
                  The fox has a book, a lantern and an umbrella.",
        moods: "cosy | studious | undisturbed",
        reminds: "Just one more chapter. | Let it pour, the plot is good. | \
                  Nothing can spoil a fine evening of letters. | The best seat is the dry one.",
        words: "read book story novel page wet storm lamp shelter study animal clever evening dry library",
        ideas: &[LightInTheDark, Weather, Alone],
    },
    // 20: The moon in a birdcage
    Scene {
        seen: "the moon in a birdcage | a birdcage on a branch | a cage with the moon in it | the moon behind bars",
        happens: "The moon sits in a birdcage. | Somebody has caught the moon in a cage. | \
                  The birdcage glows in the bare tree.",
        moods: "captive | silvery | possessive",
        reminds: "Tonight there will be no tides. | It used to sing to us all. | \
                  The poets want it set free. | Whoever owns it owns the night.",
        words: "cage prison prisoner caught bars bird night tree trapped captured free glow thief locked lunar",
        ideas: &[LightInTheDark, KeptInside, Dream, Treasure, OutOfPlace],
    },
    // 21: A mushroom with a door and a lit window
    Scene {
        seen: "a mushroom | a mushroom with a door | a lit window in a mushroom | a red mushroom with white dots",
        happens: "A light burns in the window of the mushroom. | The mushroom has a door. | \
                  Somebody is at home in the mushroom.",
        moods: "snug | homely | enchanted",
        reminds: "The rent is low, and so is the ceiling. | Tea is ready under the cap. | \
                  After a damp week the suburb doubles. | Elves pay no taxes.",
        words: "toadstool house cottage gnome fairy elf dwarf forest home lamp night small wood tiny light",
        ideas: &[LightInTheDark, Home, Threshold, Growing],
    },
    // 22: A cat asleep as large as a hill, with houses on its back
    Scene {
        seen: "a cat as large as a hill | a sleeping cat | a blue cat with houses on its back | a cat under the full moon",
        happens: "The houses stand on the back of a cat. | A cat sleeps, as large as a hill. | \
                  The whole village lives on a cat that is asleep.",
        moods: "peaceful | purring | sleepy",
        reminds: "Pray that it never stretches. | The earthquake has whiskers. | \
                  The street is warm, and hums. | Nobody here dares to own a dog.",
        words: "kitten sleep sleeping nap purr giant village town night moon animal pet whiskers blue big",
        ideas: &[Home, Sizes, Dream],
    },
    // 23: A mirror in a dark wood that shows the day
    Scene {
        seen: "a mirror | a mirror in a dark wood | a golden frame between bare trees | a piece of day in the wood",
        happens: "A mirror shows the day in the middle of the night. | In the dark wood a mirror is bright. | \
                  The mirror does not show the wood.",
        moods: "deceptive | spellbound | eerie",
        reminds: "It remembers how it was at noon. | On this side it is later. | \
                  The glass reveals what you miss. | The truth lies somewhere brighter.",
        words: "reflection glass forest night tree sun bright frame other world look noon magic gold window",
        ideas: &[KeptInside, Threshold, TwoThings],
    },
    // 24: A candle with windows, and moths around its flame
    Scene {
        seen: "a candle | a candle with windows | a moth by a flame | a tower of wax",
        happens: "Moths fly around the flame of a candle. | The candle has windows and a door. | \
                  Somebody lives in the candle.",
        moods: "flickering | tempting | melting",
        reminds: "The roof is always warm. | The tenants will have to move out soon. | \
                  Guests come with wings, and stay too long. | Beauty is a dangerous address.",
        words: "wax fire burn light lamp tower house insect butterfly attract night door hot melt glow",
        ideas: &[LightInTheDark, Time, Flame, TwoThings, Home],
    },
    // 25: A rocking horse by the sea, under the moon
    Scene {
        seen: "a rocking horse | a rocking horse by the sea | a toy horse in the moonlight | a great full moon",
        happens: "A rocking horse stands by the sea. | The rocking horse looks out under the moon. | \
                  The moon shines on a wooden horse.",
        moods: "nostalgic | abandoned | tender",
        reminds: "The child has long grown up. | It gallops, and never arrives. | \
                  We left it behind that summer. | Some friends are made of wood.",
        words: "toy pony childhood child wooden ride beach shore ocean night memory lonely play saddle gallop",
        ideas: &[Toys, Dream, Time],
    },
    // 26: A gardener who waters the stars
    Scene {
        seen: "a gardener | a watering can | a star in a flower bed | a gardener with a blue watering can",
        happens: "A gardener waters the stars. | Stars grow where the gardener pours. | \
                  The stars come up in the garden tonight.",
        moods: "caring | hopeful | tireless",
        reminds: "Next year the sky will be full. | Sow at dusk, and be patient. | \
                  Somebody has to keep the heavens from wilting. | The seeds came from far away.",
        words: "garden water watering plant grow flower night sky seed tend bloom harvest farmer shine pour",
        ideas: &[LightInTheDark, Dream, Growing, Treasure],
    },
    // 27: A rabbit by a lamp, and its shadow is a bear
    Scene {
        seen: "a rabbit by a lamp | the shadow of a bear | a rabbit with a huge shadow | a floor lamp and a rabbit",
        happens: "The shadow of the rabbit is a bear. | A lamp turns a rabbit into a bear. | \
                  The rabbit does not see the bear on the wall.",
        moods: "timid | boastful | underestimated",
        reminds: "Inside I am enormous. | What frightens us is mostly made by ourselves. | \
                  Everybody has another side. | Do not judge me by what falls behind me.",
        words: "bunny hare light wall dark fear afraid monster big small scary silhouette pretend courage theatre",
        ideas: &[Sizes, Performance, TwoThings, LightInTheDark],
    },
    // 28: A teapot that pours a river into the valley
    Scene {
        seen: "a teapot | a teapot in the sky | a river from a teapot | a white teapot above the valley",
        happens: "A teapot pours a river into the valley. | The river comes out of a teapot. | \
                  The valley is filled by a teapot.",
        moods: "hospitable | refreshing | generous",
        reminds: "One lump or two for the countryside? | Breakfast for the whole county. | \
                  Every source has a lid. | Somebody up there is a good host.",
        words: "tea pot drink cup pour water stream waterfall flow kettle green hill breakfast spout thirsty",
        ideas: &[Journey, Above],
    },
    // 29: A snail with a clock for its shell
    Scene {
        seen: "a snail | a clock on a snail | a snail with a clock for its shell | a large round clock",
        happens: "The snail carries a clock. | A clock is the shell of a snail. | \
                  The snail walks by, and the clock ticks.",
        moods: "unhurried | slow | punctual",
        reminds: "We will get there when we get there. | An appointment that crawls. | \
                  The minutes leave a silver track. | Hurry is for others.",
        words: "time hour minute late watch tick slow house carry autumn crawl wait hurry patience",
        ideas: &[Home, Time],
    },
    // 30: An hourglass with a town in it, in the desert
    Scene {
        seen: "an hourglass | a town in an hourglass | an hourglass in the desert | a town under the sand",
        happens: "Sand falls on the town in the hourglass. | An hourglass stands in the desert. | \
                  The town is slowly buried in its hourglass.",
        moods: "fateful | dusty | fleeting",
        reminds: "The citizens have until noon. | Somebody ought to turn it over. | \
                  All empires end like this. | The clock tower was the last to go.",
        words: "time sand hour minute city glass dune buried tower running out end trapped castle clock",
        ideas: &[KeptInside, Time, Alone],
    },
    // 31: A cactus with lights on it that holds a balloon
    Scene {
        seen: "a cactus | a cactus with a balloon | a string of lights on a cactus | a red balloon in the desert",
        happens: "A cactus holds a red balloon. | Somebody has hung lights on the cactus. | \
                  The cactus celebrates with a balloon.",
        moods: "prickly | festive | awkward",
        reminds: "Hug me if you dare. | A party where nobody came. | \
                  One careless move, and it bangs. | Christmas comes to dry places too.",
        words: "desert thorn spike needle party birthday celebrate christmas lamp sand pop burst plant dune hug",
        ideas: &[Flight, Toys, Alone, Growing, OutOfPlace],
    },
    // 32: A kite that pulls a house across the plain
    Scene {
        seen: "a kite | a house on a string | a kite with a long tail | a house behind a kite",
        happens: "A kite pulls a house across the plain. | The house follows its kite. | \
                  The kite has hold of the house.",
        moods: "windswept | reckless | footloose",
        reminds: "Hold on to the furniture. | The breeze decides where we live. | \
                  The garden will have to catch up. | Somebody let out too much string.",
        words: "wind fly home pull move string autumn field travel air tail blow cottage drag breeze",
        ideas: &[Home, Flight, Toys],
    },
    // 33: A chair as high as a tower, and a ladder to its seat
    Scene {
        seen: "a chair as high as a tower | a ladder to a chair | a giant chair | somebody small beside a chair",
        happens: "A ladder leads to the seat of the chair. | The chair is as high as a tower. | \
                  Somebody stands at the foot of a huge chair.",
        moods: "ambitious | humble | commanding",
        reminds: "I am still too little for the table. | They keep it free for a giant. | \
                  Sit down, if you can. | Importance has long legs.",
        words: "seat sit giant climb tall wooden throne big furniture small little table stool huge up",
        ideas: &[Above, Sizes, Balance, Alone],
    },
    // 34: A storm in a jar on the table
    Scene {
        seen: "a storm in a jar | a jar with lightning in it | a tiny ship in a jar | a jar on the table",
        happens: "A storm rages in a jar. | Lightning strikes inside the jar on the table. | \
                  A little ship is caught in the jar.",
        moods: "furious | bottled up | restless",
        reminds: "Much ado, and the lid is on. | Anger keeps for years if it is sealed. | \
                  Do not shake it before supper. | Thunder goes well with bread.",
        words: "thunder lightning weather glass cloud rain trapped boat sea anger angry kitchen preserve lid bolt",
        ideas: &[KeptInside, Weather],
    },
    // 35: A dragon that rises as smoke from a chimney
    Scene {
        seen: "a dragon | a dragon of smoke | a house with a smoking chimney | a white dragon above the roof",
        happens: "A dragon rises from the chimney. | The smoke of the house is a dragon. | \
                  Smoke comes out of the chimney, and it has wings.",
        moods: "mythical | stealthy | smouldering",
        reminds: "Grandmother is cooking again. | Somebody has burnt the roast. | \
                  Legends begin at the hearth. | What you feed by the fireside grows wings.",
        words: "fire monster fly house home wing fog myth legend oven stove steam fairy tale night roof",
        ideas: &[Flight, Flame, TwoThings],
    },
    // 36: A stage whose curtain opens on the sea, and a mask above it
    Scene {
        seen: "a stage | a red curtain | a mask above a stage | a curtain before the sea",
        happens: "The curtain opens on the sea. | A mask looks down on the stage. | \
                  A boat sails across the stage.",
        moods: "theatrical | solemn | rehearsed",
        reminds: "The tide knows its lines. | Act two will be wet. | \
                  Nature never forgets an entrance. | All the world, and tickets are cheap.",
        words: "theatre theater play actor show boat sail ocean act drama audience red sun scene perform",
        ideas: &[Threshold, Performance, Drifting, TwoThings],
    },
    // 37: A horse that jumps over a comet
    Scene {
        seen: "a horse | a comet | a horse above a comet | a comet with a bright tail",
        happens: "A horse jumps over a comet. | The comet passes under the horse. | \
                  The horse leaps among the stars.",
        moods: "fearless | galloping | boundless",
        reminds: "Every hurdle has its season. | The race is run once in a lifetime. | \
                  He wanted more than the nursery. | Faster than a wish.",
        words: "rocking toy pony leap jump space sky star meteor gallop night tail ride race hurdle",
        ideas: &[Flight, Toys, Flame, Performance],
    },
    // 38: A bird of fire that leaves its egg
    Scene {
        seen: "a bird of fire | a phoenix | an egg with a broken shell | a burning bird above its egg",
        happens: "A bird of fire leaves its egg. | The egg breaks, and fire flies out of it. | \
                  A burning bird spreads its wings.",
        moods: "newborn | radiant | unstoppable",
        reminds: "Every ending is only a shell. | She has done this a thousand times. | \
                  Ashes are where it starts. | The first breath is the brightest.",
        words: "phoenix flame burn born birth hatch wing rebirth ash fly new reborn hot shell orange",
        ideas: &[Flight, Flame, Time],
    },
    // 39: A castle in a ball of glass, and the winter outside
    Scene {
        seen: "a castle in a ball of glass | a snow globe | a ball of glass in the snow | a castle with three towers",
        happens: "A castle stands in a ball of glass. | It is winter outside the glass, and inside too. | \
                  Snow falls around a castle under glass.",
        moods: "frosty | untouchable | silent",
        reminds: "Shake it, and they will look up. | The princess has never felt the wind. | \
                  A souvenir of the cold. | Their sky ends at arm's length.",
        words: "snow globe snowglobe sphere cold ice prince princess king tower mountain frozen trapped souvenir dome",
        ideas: &[KeptInside, Weather, Toys, Treasure],
    },
    // 40: A turtle that swims through the sky with a garden on it
    Scene {
        seen: "a turtle in the sky | a garden on a turtle | a turtle with a little house | a turtle above the clouds",
        happens: "A turtle swims through the sky. | The turtle has a garden on its shell. | \
                  A garden goes by on a turtle.",
        moods: "ancient | wise | tranquil",
        reminds: "The old one bears the orchard. | Slow, and still above us all. | \
                  Our island has a heartbeat. | A hundred springs on one pair of shoulders.",
        words: "tortoise fly flying float shell tree house island cloud slow old carry world swim pink",
        ideas: &[Home, Above, Flight, Growing],
    },
    // 41: A swing that hangs from the moon above a small island
    Scene {
        seen: "a swing | a swing on the moon | a small island in the air | somebody on a swing",
        happens: "A swing hangs from the moon. | Somebody swings above a small island. | \
                  The moon holds the swing.",
        moods: "dreamy | weightless | blissful",
        reminds: "Push me once more, I can nearly touch it. | The best playground has no fence. | \
                  Back and forth goes the night. | Who tied the ropes up there?",
        words: "rope crescent night star child play float flower tree sway playground hang sky lunar",
        ideas: &[Above, Toys, Dream, Balance],
    },
    // 42: Two needles that knit a road into the valley
    Scene {
        seen: "a pair of needles | a knitted road | a red road in the valley | a road on two needles",
        happens: "Two needles knit a road. | The road into the valley is knitted. | \
                  The needles are still at work on the road.",
        moods: "diligent | woolly | homespun",
        reminds: "Grandmother wants us to visit. | One stitch at a time, and we will arrive. | \
                  Somebody dropped a loop near the bend. | The way home is soft and warm.",
        words: "knitting wool thread yarn stitch scarf path street way handmade sew red travel weave",
        ideas: &[Journey, Growing],
    },
    // 43: A boat before a gate of light in the sea
    Scene {
        seen: "a gate of light | a boat before a gate | a gate in the sea | a little boat and a great arch",
        happens: "A boat sails towards a gate of light. | A gate stands open in the sea. | \
                  The light of the gate falls on the boat.",
        moods: "awestruck | solemn | promising",
        reminds: "Beyond it, nobody needs a map. | This must be the end, or the start. | \
                  The last harbour is bright. | Take off your hat, and go on.",
        words: "door arch sail ship portal ocean shine glow heaven entrance pass through bright water temple",
        ideas: &[Drifting, Threshold, LightInTheDark, Journey],
    },
];
