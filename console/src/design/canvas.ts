// The design's colours for a canvas, which no style sheet reaches: read from the tokens, so that there is one palette. Forced colours
// replace what the tokens say, as they do everywhere on the page.

export interface BoardColors {
  readonly board: string;
  readonly cell: string;
  readonly ink: string;
  readonly food: string;
  readonly leaf: string;
  readonly hazard: string;
}

const FORCED: BoardColors = { board: 'GrayText', cell: 'Canvas', ink: 'CanvasText', food: 'Highlight', leaf: 'CanvasText', hazard: 'GrayText' };

export function boardColors(element: Element): BoardColors {
  if (matchMedia('(forced-colors: active)').matches) return FORCED;
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(name).trim();
  return {
    board: token('--board'),
    cell: token('--board-cell'),
    ink: token('--board-ink'),
    food: token('--food'),
    leaf: token('--leaf'),
    hazard: token('--hazard'),
  };
}
