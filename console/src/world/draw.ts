// One picture of the world: the field around the camera, what stands on it, and who walks there. Knows the canvas and
// nothing of how the world came to be so.
import { type Cell, cellOf, keyOf } from './grid.ts';
import { place, presence, type Track } from './motion.ts';
import { floating, type Pop } from './pops.ts';
import type { Sprites } from './sprites.ts';
import type { Item, Mover, World } from './state.ts';
import type { Theme } from './theme.ts';

export interface Scene {
  readonly world: World;
  /** Movers that are in sight or fade, with how they look. */
  readonly looks: ReadonlyMap<number, Mover>;
  readonly tracks: ReadonlyMap<number, Track>;
  readonly camera: Cell;
  readonly own: Cell;
  readonly ownLook: string;
  readonly pops: readonly Pop[];
  /** Where a walk leads, and the cells that it still goes over. */
  readonly target: Cell | null;
  readonly ahead: readonly Cell[];
  /** The cell that a keyboard chooses. */
  readonly cursor: Cell | null;
  readonly lantern: Cell | null;
  readonly nowMs: number;
  readonly periodMs: number;
  /** Nothing moves but what walks. */
  readonly isStill: boolean;
}

export interface Frame {
  /** Device pixels. */
  readonly width: number;
  readonly height: number;
  readonly cellPx: number;
  /** Device pixels of the smallest letters that can be read. */
  readonly lettersPx: number;
}

const TREE = '🌳';
const BACTERIUM = '🦠';
const LANTERN = '🏮';

/** Device pixels of the upper left corner of a cell. */
export function corner(cell: Cell, camera: Cell, frame: Frame): Cell {
  const { width, height, cellPx } = frame;
  return {
    x: Math.round(width / 2 + (cell.x - camera.x - 0.5) * cellPx),
    y: Math.round(height / 2 + (cell.y - camera.y - 0.5) * cellPx),
  };
}

export function draw(context: CanvasRenderingContext2D, scene: Scene, frame: Frame, theme: Theme, sprites: Sprites) {
  field(context, scene, frame, theme, sprites);
  const stand = (emoji: string, at: Cell, alpha = 1, scale = 1) => {
    const { x, y } = corner(at, scene.camera, frame);
    const { cellPx } = frame;
    if (alpha <= 0 || x < -cellPx || y < -cellPx || x > frame.width || y > frame.height) return;
    const sprite = sprites.get(emoji, cellPx);
    // Hardly anybody is coming or going: a copy as it is costs half.
    if (alpha === 1 && scale === 1) return context.drawImage(sprite, x, y);
    context.globalAlpha = alpha;
    const side = cellPx * scale;
    const inset = (cellPx - side) / 2;
    context.drawImage(sprite, x + inset, y + inset, side, side);
    context.globalAlpha = 1;
  };
  const { world } = scene;
  if (scene.lantern) glow(context, scene.lantern, scene, frame, theme);
  for (const key of world.trees) stand(TREE, cellOf(key));
  if (scene.lantern) stand(LANTERN, scene.lantern);
  for (const key of world.life) stand(BACTERIUM, cellOf(key), 0.85, 0.9);
  for (const item of world.items.values()) stand(item.emoji, item.at, 1, scene.isStill ? 1 : breath(item, scene.nowMs));
  way(context, scene, frame, theme);
  const walk = (id: number, track: Track) => {
    const alpha = presence(track, scene.nowMs);
    stand(scene.looks.get(id)?.emoji ?? '🤖', aside(place(track, scene.nowMs, scene.periodMs), id), alpha, 0.6 + 0.4 * alpha);
  };
  const isSomebody = (id: number) => scene.looks.get(id)?.name !== undefined;
  // A mover with a name stands in front of the crowd.
  for (const [id, track] of scene.tracks) if (!isSomebody(id)) walk(id, track);
  for (const [id, track] of scene.tracks) if (isSomebody(id)) walk(id, track);
  // Above the crowd, or the own mover is one of a hundred.
  ring(context, scene, frame, theme);
  stand(scene.ownLook, scene.own, 1, 1.12);
  names(context, scene, frame, theme, sprites);
  if (scene.lantern) pointer(context, scene.lantern, scene, frame, theme, sprites);
  for (const pop of scene.pops) float(context, pop, scene, frame, theme);
}

function field(context: CanvasRenderingContext2D, { camera, world }: Scene, frame: Frame, theme: Theme, sprites: Sprites) {
  const { width, height, cellPx } = frame;
  context.fillStyle = theme.beyond;
  context.fillRect(0, 0, width, height);
  const [across, down] = [Math.ceil(width / cellPx / 2) + 1, Math.ceil(height / cellPx / 2) + 1];
  const left = Math.max(0, Math.floor(camera.x) - across);
  const top = Math.max(0, Math.floor(camera.y) - down);
  const right = Math.min(world.size.width, Math.ceil(camera.x) + across + 1);
  const bottom = Math.min(world.size.height, Math.ceil(camera.y) + down + 1);
  if (right <= left || bottom <= top) return;
  const from = corner({ x: left, y: top }, camera, frame);
  const to = corner({ x: right, y: bottom }, camera, frame);
  context.fillStyle = theme.field;
  context.fillRect(from.x, from.y, to.x - from.x, to.y - from.y);
  // Every other cell is darker: in one go, as a pattern that begins at an even cell.
  const even = corner({ x: left - (left % 2), y: top - (top % 2) }, camera, frame);
  const pattern = context.createPattern(sprites.checker(theme.checker, cellPx), 'repeat');
  if (pattern) {
    pattern.setTransform(new DOMMatrix().translate(even.x, even.y));
    context.fillStyle = pattern;
    context.fillRect(from.x, from.y, to.x - from.x, to.y - from.y);
  }
  border(context, world, camera, frame, theme);
}

function border(context: CanvasRenderingContext2D, world: World, camera: Cell, frame: Frame, theme: Theme) {
  const from = corner({ x: 0, y: 0 }, camera, frame);
  const to = corner({ x: world.size.width, y: world.size.height }, camera, frame);
  const line = Math.max(2, frame.cellPx / 10);
  context.strokeStyle = theme.edge;
  context.lineWidth = line;
  context.strokeRect(from.x - line / 2, from.y - line / 2, to.x - from.x + line, to.y - from.y + line);
}

/** Where the own mover stands, which in a crowd its player would not find. */
function ring(context: CanvasRenderingContext2D, scene: Scene, frame: Frame, theme: Theme) {
  const { x, y } = corner(scene.own, scene.camera, frame);
  const half = frame.cellPx / 2;
  context.strokeStyle = theme.own;
  context.lineWidth = Math.max(1.5, frame.cellPx / 16);
  context.beginPath();
  context.arc(x + half, y + half, half * 1.12, 0, 2 * Math.PI);
  context.globalAlpha = 0.16;
  context.fillStyle = theme.own;
  context.fill();
  context.globalAlpha = 1;
  context.stroke();
}

/** A square of this part of a cell's side around its middle, with round corners. */
function square(context: CanvasRenderingContext2D, cell: Cell, camera: Cell, frame: Frame, part: number) {
  const { x, y } = corner(cell, camera, frame);
  const side = frame.cellPx * part;
  const inset = (frame.cellPx - side) / 2;
  context.beginPath();
  context.roundRect(x + inset, y + inset, side, side, side / 4);
}

/** Where a walk goes: a dot on each cell, a square around the last; and the square that a keyboard moves. */
function way(context: CanvasRenderingContext2D, { target, ahead, cursor, camera }: Scene, frame: Frame, theme: Theme) {
  context.lineWidth = Math.max(2, frame.cellPx / 12);
  context.strokeStyle = context.fillStyle = theme.won;
  if (target) {
    context.beginPath();
    for (const cell of ahead) {
      const { x, y } = corner(cell, camera, frame);
      if (x < -frame.cellPx || y < -frame.cellPx || x > frame.width || y > frame.height) continue;
      const [middle, radius] = [frame.cellPx / 2, frame.cellPx / 11];
      context.moveTo(x + middle + radius, y + middle);
      context.arc(x + middle, y + middle, radius, 0, 2 * Math.PI);
    }
    context.globalAlpha = 0.7;
    context.fill();
    context.globalAlpha = 1;
    square(context, target, camera, frame, 0.82);
    context.stroke();
  }
  if (!cursor) return;
  square(context, cursor, camera, frame, 0.96);
  context.globalAlpha = 0.25;
  context.fill();
  context.globalAlpha = 1;
  context.stroke();
}

/** The light of a lantern on the cells around it. */
function glow(context: CanvasRenderingContext2D, at: Cell, { camera }: Scene, frame: Frame, theme: Theme) {
  const { x, y } = corner(at, camera, frame);
  const half = frame.cellPx / 2;
  context.fillStyle = theme.won;
  for (const [cells, alpha] of [[2.4, 0.08], [1.5, 0.12], [0.8, 0.18]] as const) {
    context.globalAlpha = alpha;
    context.beginPath();
    context.arc(x + half, y + half, frame.cellPx * cells, 0, 2 * Math.PI);
    context.fill();
  }
  context.globalAlpha = 1;
}

/** Where a lantern is that lies beyond the stage: at its edge, with an arrow. */
function pointer(context: CanvasRenderingContext2D, at: Cell, { camera }: Scene, frame: Frame, theme: Theme, sprites: Sprites) {
  const { width, height, cellPx } = frame;
  const edge = cellPx * 1.1;
  const [dx, dy] = [(at.x - camera.x) * cellPx, (at.y - camera.y) * cellPx];
  const share = Math.min((width / 2 - edge) / Math.abs(dx), (height / 2 - edge) / Math.abs(dy));
  if (share >= 1) return;
  const [x, y] = [width / 2 + dx * share, height / 2 + dy * share];
  context.save();
  context.translate(x, y);
  context.fillStyle = theme.nameBack;
  context.beginPath();
  context.arc(0, 0, cellPx * 0.72, 0, 2 * Math.PI);
  context.fill();
  context.drawImage(sprites.get(LANTERN, cellPx), -cellPx * 0.4, -cellPx * 0.4, cellPx * 0.8, cellPx * 0.8);
  context.rotate(Math.atan2(dy, dx));
  context.fillStyle = theme.won;
  context.beginPath();
  context.moveTo(cellPx, 0);
  context.lineTo(cellPx * 0.74, -cellPx * 0.26);
  context.lineTo(cellPx * 0.74, cellPx * 0.26);
  context.fill();
  context.restore();
}

function names(context: CanvasRenderingContext2D, scene: Scene, frame: Frame, theme: Theme, sprites: Sprites) {
  for (const [id, track] of scene.tracks) {
    const name = scene.looks.get(id)?.name;
    if (!name || track.goneMs !== undefined) continue;
    const label = sprites.label(name, Math.max(frame.lettersPx, Math.round(frame.cellPx * 0.3)), theme);
    const at = corner(place(track, scene.nowMs, scene.periodMs), scene.camera, frame);
    context.drawImage(label, Math.round(at.x + (frame.cellPx - label.width) / 2), Math.round(at.y - label.height + frame.cellPx * 0.02));
  }
}

/** What was won, above everything. */
function float(context: CanvasRenderingContext2D, pop: Pop, scene: Scene, frame: Frame, theme: Theme) {
  const { at, alpha } = floating(pop, scene.nowMs, scene.isStill);
  if (alpha <= 0) return;
  const { x, y } = corner(at, scene.camera, frame);
  const half = frame.cellPx / 2;
  context.globalAlpha = alpha;
  context.font = `700 ${Math.round(frame.cellPx * 0.62)}px system-ui, sans-serif`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.lineWidth = frame.cellPx / 6;
  context.lineJoin = 'round';
  context.strokeStyle = theme.field;
  context.strokeText(pop.text, x + half, y + half);
  context.fillStyle = theme.won;
  context.fillText(pop.text, x + half, y + half);
  context.globalAlpha = 1;
}

/** Several movers on a cell stand a little apart: always the same way, so that no mover trembles. */
function aside(cell: Cell, id: number): Cell {
  const turn = ((Math.imul(id, 0x9e3779b1) >>> 0) / 0x1_0000_0000) * 2 * Math.PI;
  return { x: cell.x + 0.14 * Math.cos(turn), y: cell.y + 0.1 * Math.sin(turn) };
}

function breath(item: Item, nowMs: number): number {
  return 0.94 + 0.06 * Math.sin(nowMs / 320 + keyOf(item.at));
}
