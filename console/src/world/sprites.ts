// What is drawn again and again, as pictures: drawing a glyph or a name costs a thousand times what copying one does, so each is
// drawn once a size. Of what strangers choose, names, no more are kept than fit into a view or two.
import type { Theme } from './theme.ts';

/** Names that are kept; a view has 1,024 movers. */
const LABELS_MAX = 2_048;

export class Sprites {
  #glyphs = new Map<string, ImageBitmap>();
  #labels = new Map<string, ImageBitmap>();
  #checker: ImageBitmap | null = null;
  #checkerColour = '';
  #labelStyle = '';
  #sidePx = 0;

  /** The picture of this emoji for cells of this many device pixels. */
  get(emoji: string, sidePx: number): ImageBitmap {
    if (sidePx !== this.#sidePx) this.#glyphs.clear();
    this.#sidePx = sidePx;
    return kept(this.#glyphs, emoji, () => glyph(emoji, sidePx));
  }

  /** A name on its background, in letters of this many device pixels. */
  label(name: string, lettersPx: number, theme: Theme): ImageBitmap {
    const style = `${lettersPx} ${theme.name} ${theme.nameBack}`;
    if (style !== this.#labelStyle || this.#labels.size >= LABELS_MAX) this.#labels.clear();
    this.#labelStyle = style;
    return kept(this.#labels, name, () => label(name, lettersPx, theme));
  }

  /** Two by two cells, of which every other one has this colour. */
  checker(colour: string, sidePx: number): ImageBitmap {
    if (this.#checker?.width !== 2 * sidePx || this.#checkerColour !== colour) {
      const [context, done] = empty(2 * sidePx, 2 * sidePx);
      context.fillStyle = colour;
      context.fillRect(0, 0, sidePx, sidePx);
      context.fillRect(sidePx, sidePx, sidePx, sidePx);
      [this.#checker, this.#checkerColour] = [done(), colour];
    }
    return this.#checker;
  }
}

function kept(pictures: Map<string, ImageBitmap>, key: string, make: () => ImageBitmap): ImageBitmap {
  const known = pictures.get(key);
  if (known) return known;
  const made = make();
  pictures.set(key, made);
  return made;
}

/** A place to paint on, and what makes a picture of it. A bitmap is copied faster than a canvas, which might still change. */
function empty(width: number, height: number): [OffscreenCanvasRenderingContext2D, () => ImageBitmap] {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d');
  if (!context) throw new Error('this browser draws nothing on a canvas');
  return [context, () => canvas.transferToImageBitmap()];
}

function glyph(emoji: string, sidePx: number): ImageBitmap {
  const [context, done] = empty(sidePx, sidePx);
  context.textAlign = 'center';
  context.textBaseline = 'alphabetic';
  context.font = `${Math.round(sidePx * 0.76)}px "Apple Color Emoji", "Segoe UI Emoji", "Noto Color Emoji", sans-serif`;
  // Fonts disagree about where the middle of an emoji is; its ink does not.
  const ink = context.measureText(emoji);
  const baseline = sidePx / 2 + (ink.actualBoundingBoxAscent - ink.actualBoundingBoxDescent) / 2;
  const shift = (ink.actualBoundingBoxLeft - ink.actualBoundingBoxRight) / 2;
  context.fillText(emoji, sidePx / 2 + shift, baseline);
  return done();
}

function label(name: string, lettersPx: number, theme: Theme): ImageBitmap {
  const font = `600 ${lettersPx}px system-ui, sans-serif`;
  const [measure] = empty(1, 1);
  measure.font = font;
  const width = Math.max(1, Math.ceil(measure.measureText(name).width + lettersPx * 0.8));
  const height = Math.ceil(lettersPx * 1.27);
  const [context, done] = empty(width, height);
  context.fillStyle = theme.nameBack;
  context.fillRect(0, 0, width, height);
  context.font = font;
  context.textAlign = 'center';
  context.textBaseline = 'bottom';
  context.fillStyle = theme.name;
  context.fillText(name, width / 2, height - lettersPx * 0.07);
  return done();
}
