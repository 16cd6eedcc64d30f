// Heads and tails of snakes, drawn here: nothing is fetched for a name that a bot chose. Each is drawn in units of a cell around
// its own cell's middle, looking to the right. A name that is not among these gets the one that is nearest by its words.

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

export const HEADS = ['default', 'smile', 'tongue', 'evil', 'fang', 'shades', 'pixel', 'silly', 'dead', 'beluga', 'sleepy', 'cyclops'] as const;
export type Head = (typeof HEADS)[number];
export const TAILS = ['default', 'sharp', 'round', 'block', 'bolt', 'curled', 'rattle', 'skinny', 'freckled', 'hook'] as const;
export type Tail = (typeof TAILS)[number];

/** Words in names that bots of this field choose, and what is drawn for them. */
const HEAD_WORDS: readonly (readonly [RegExp, Head])[] = [
  [/pixel|robot|block/, 'pixel'],
  [/tongue|iguana|lantern/, 'tongue'],
  [/evil|angry|rage|villain|orca/, 'evil'],
  [/fang|viper|cobra|tiger|vampire|shark/, 'fang'],
  [/shade|glasses|cool|nr-rocket|missile/, 'shades'],
  [/silly|crazy|scarf|jackolantern|pumpkin/, 'silly'],
  [/dead|skull|ghost|moto/, 'dead'],
  [/beluga|whale|dolphin|gamer|bonhomme|snow/, 'beluga'],
  [/safe|sleep|moustache|bendr|tired/, 'sleepy'],
  [/all-seeing|cyclops|eye|sand-worm|do-sammy/, 'cyclops'],
  [/smile|happy|caffeine|chomp|workout/, 'smile'],
];
const TAIL_WORDS: readonly (readonly [RegExp, Tail])[] = [
  [/block|pixel|box/, 'block'],
  [/rattle/, 'rattle'],
  [/round/, 'round'],
  [/bolt|lightning|nr-booster|rocket/, 'bolt'],
  [/curl|pig|swirl/, 'curled'],
  [/skinny|mouse|thin/, 'skinny'],
  [/freckle|spot|leaf/, 'freckled'],
  [/hook|scorpion|present/, 'hook'],
  [/sharp|flame|fin|ice|shiny/, 'sharp'],
];

export function headFor(name: string): Head {
  return HEAD_WORDS.find(([words]) => words.test(name.toLowerCase()))?.[1] ?? 'default';
}

export function tailFor(name: string): Tail {
  return TAIL_WORDS.find(([words]) => words.test(name.toLowerCase()))?.[1] ?? 'default';
}

const WHITE = '#fff8ec';
const INK = '#1b1338';
const RED = '#e2493a';

export function drawHead(context: Context, head: Head, color: string, outline: string) {
  context.lineWidth = 0.14;
  context.lineJoin = 'round';
  context.beginPath();
  if (head === 'pixel') context.rect(-0.42, -0.42, 0.88, 0.84);
  else context.ellipse(0.02, 0, head === 'beluga' ? 0.5 : 0.47, head === 'beluga' ? 0.47 : 0.43, 0, 0, 2 * Math.PI);
  context.strokeStyle = outline;
  context.stroke();
  context.fillStyle = color;
  context.fill();
  drawFace(context, head);
}

function drawFace(context: Context, head: Head) {
  switch (head) {
    case 'shades':
      return drawShades(context);
    case 'cyclops':
      return drawEye(context, 0.12, 0, 0.24);
    case 'dead':
      for (const side of [-1, 1]) lines(context, INK, 0.08, [[[0.02, side * 0.2 - 0.1], [0.22, side * 0.2 + 0.1]], [[0.02, side * 0.2 + 0.1], [0.22, side * 0.2 - 0.1]]]);
      return;
    case 'sleepy':
      for (const side of [-1, 1]) lines(context, INK, 0.08, [[[0.1, side * 0.1], [0.18, side * 0.2], [0.1, side * 0.3]]]);
      return;
    case 'silly':
      drawEye(context, 0.12, -0.2, 0.17);
      drawEye(context, 0.14, 0.2, 0.1);
      return drawTongue(context);
    case 'pixel':
      for (const side of [-1, 1]) {
        fillRect(context, WHITE, 0, side * 0.2 - 0.12, 0.24, 0.24);
        fillRect(context, INK, 0.12, side * 0.2 - 0.06, 0.12, 0.12);
      }
      return;
    default:
      for (const side of [-1, 1]) drawEye(context, 0.1, side * 0.2, head === 'beluga' ? 0.1 : 0.145);
  }
  if (head === 'smile') lines(context, INK, 0.06, [[[0.32, -0.14], [0.38, 0], [0.32, 0.14]]]);
  if (head === 'tongue') drawTongue(context);
  if (head === 'evil') for (const side of [-1, 1]) lines(context, INK, 0.09, [[[-0.04, side * 0.36], [0.24, side * 0.12]]]);
  if (head === 'fang') for (const side of [-1, 1]) fillShape(context, WHITE, [[0.38, side * 0.08], [0.58, side * 0.14], [0.36, side * 0.22]]);
}

function drawEye(context: Context, x: number, y: number, radius: number) {
  disc(context, WHITE, x, y, radius);
  disc(context, INK, x + radius * 0.35, y, radius * 0.55);
}

function drawTongue(context: Context) {
  lines(context, RED, 0.08, [[[0.44, 0], [0.6, 0], [0.7, -0.09]], [[0.6, 0], [0.7, 0.09]]]);
}

function drawShades(context: Context) {
  context.fillStyle = INK;
  context.beginPath();
  context.roundRect(0, -0.36, 0.24, 0.3, 0.09);
  context.roundRect(0, 0.06, 0.24, 0.3, 0.09);
  context.rect(0.14, -0.1, 0.06, 0.2);
  context.fill();
}

/** The body's half width in cells: where a tail begins. */
export const HALF_WIDTH = 0.36;
/** Where it begins, and how far behind its cell's middle it may end. */
const JOINT = -0.5;

/** The end of a snake in its last cell: the body comes from the left. */
export function drawTail(context: Context, tail: Tail, color: string, outline: string) {
  context.beginPath();
  traceTail(context, tail);
  context.lineJoin = 'round';
  context.lineWidth = 0.14;
  context.strokeStyle = outline;
  context.stroke();
  context.fillStyle = color;
  context.fill();
  if (tail === 'freckled') for (const [x, y] of [[-0.32, -0.1], [-0.12, 0.1], [0.08, -0.03]] as const) disc(context, WHITE, x, y, 0.06);
  if (tail === 'rattle') lines(context, outline, 0.05, [[[0.06, -0.2], [0.06, 0.2]], [[0.2, -0.16], [0.2, 0.16]]]);
}

function traceTail(context: Context, tail: Tail) {
  const half = HALF_WIDTH;
  switch (tail) {
    case 'sharp':
      return trace(context, [[JOINT, -half], [0.46, 0], [JOINT, half]]);
    case 'block':
      return trace(context, [[JOINT, -half], [0.36, -half], [0.36, half], [JOINT, half]]);
    case 'bolt':
      return trace(context, [[JOINT, -half], [-0.1, -0.2], [-0.2, 0.02], [0.46, -0.12], [0.02, 0.26], [0.06, 0.12], [JOINT, half]]);
    case 'hook':
      return trace(context, [[JOINT, -half], [0.1, -0.3], [0.36, -0.02], [0.3, 0.32], [0.16, 0.02], [-0.04, 0.06], [JOINT, half]]);
    case 'round':
      context.moveTo(JOINT, -half);
      context.lineTo(0, -half);
      context.arc(0, 0, half, -Math.PI / 2, Math.PI / 2);
      return context.lineTo(JOINT, half);
    case 'skinny':
      context.moveTo(JOINT, -half);
      context.quadraticCurveTo(-0.2, -0.06, 0.44, -0.04);
      context.lineTo(0.44, 0.04);
      return context.quadraticCurveTo(-0.2, 0.06, JOINT, half);
    case 'curled':
      context.moveTo(JOINT, -half);
      context.quadraticCurveTo(0.1, -0.3, 0.32, -0.16);
      context.arc(0.26, 0.08, 0.24, -1.3, 2.2);
      context.arc(0.22, 0.06, 0.1, 2.2, -1.3, true);
      return context.quadraticCurveTo(-0.1, 0, JOINT, half);
    case 'rattle':
      context.moveTo(JOINT, -half);
      context.quadraticCurveTo(-0.1, -0.34, 0.06, -0.22);
      context.arc(0.24, 0, 0.2, -2.1, 2.1);
      return context.quadraticCurveTo(-0.1, 0.34, JOINT, half);
    default:
      context.moveTo(JOINT, -half);
      context.quadraticCurveTo(0.02, -half, 0.3, -0.1);
      context.arc(0.27, 0, 0.11, -1.1, 1.1);
      return context.quadraticCurveTo(0.02, half, JOINT, half);
  }
}

type Point = readonly [number, number];

function trace(context: Context, points: readonly Point[]) {
  points.forEach(([x, y], at) => (at === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
}

function fillShape(context: Context, color: string, points: readonly Point[]) {
  context.fillStyle = color;
  context.beginPath();
  trace(context, points);
  context.fill();
}

function fillRect(context: Context, color: string, x: number, y: number, width: number, height: number) {
  context.fillStyle = color;
  context.fillRect(x, y, width, height);
}

function disc(context: Context, color: string, x: number, y: number, radius: number) {
  context.fillStyle = color;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function lines(context: Context, color: string, width: number, strokes: readonly (readonly Point[])[]) {
  context.strokeStyle = color;
  context.lineWidth = width;
  context.lineCap = 'round';
  context.beginPath();
  for (const stroke of strokes) trace(context, stroke);
  context.stroke();
}
