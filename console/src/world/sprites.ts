// Emoji as pictures: drawing a glyph costs a thousand times what copying one does, so each is drawn once a size.

export class Sprites {
  #made = new Map<string, HTMLCanvasElement>();
  #sidePx = 0;

  /** The picture of this emoji for cells of this many device pixels. */
  get(emoji: string, sidePx: number): HTMLCanvasElement {
    if (sidePx !== this.#sidePx) {
      this.#made.clear();
      this.#sidePx = sidePx;
    }
    const known = this.#made.get(emoji);
    if (known) return known;
    const made = glyph(emoji, sidePx);
    this.#made.set(emoji, made);
    return made;
  }
}

function glyph(emoji: string, sidePx: number): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = sidePx;
  const context = canvas.getContext('2d');
  if (!context) return canvas;
  context.textAlign = 'center';
  context.textBaseline = 'alphabetic';
  context.font = `${Math.round(sidePx * 0.76)}px "Apple Color Emoji", "Segoe UI Emoji", "Noto Color Emoji", sans-serif`;
  // Fonts disagree about where the middle of an emoji is; its ink does not.
  const ink = context.measureText(emoji);
  const baseline = sidePx / 2 + (ink.actualBoundingBoxAscent - ink.actualBoundingBoxDescent) / 2;
  const shift = (ink.actualBoundingBoxLeft - ink.actualBoundingBoxRight) / 2;
  context.fillText(emoji, sidePx / 2 + shift, baseline);
  return canvas;
}
