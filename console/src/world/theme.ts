// The colours of a canvas, which no style sheet reaches.

export interface Theme {
  readonly beyond: string;
  readonly field: string;
  readonly checker: string;
  readonly edge: string;
  readonly tree: string;
  readonly own: string;
  /** Points that were won. */
  readonly won: string;
  /** What stands out on a heat map, whatever is below it. */
  readonly mark: string;
  readonly name: string;
  readonly nameBack: string;
  /** Red, green and blue of a heat map, from nothing to the most, evenly spread. */
  readonly heat: readonly (readonly [number, number, number])[];
}

export const DARK: Theme = {
  beyond: '#0d0b20',
  field: '#232048',
  checker: '#28244f',
  edge: '#5a5490',
  tree: '#3f6f78',
  own: '#6fd6c4',
  won: '#ffd27a',
  mark: '#ffffff',
  name: '#fbf3e4',
  nameBack: 'rgba(13, 11, 32, 0.74)',
  heat: [
    [26, 23, 54],
    [52, 58, 122],
    [44, 112, 150],
    [64, 178, 170],
    [150, 216, 150],
    [255, 210, 122],
    [255, 248, 236],
  ],
};

export const LIGHT: Theme = {
  beyond: '#e4d5c0',
  field: '#fbf3e6',
  checker: '#f6ead9',
  edge: '#c9b199',
  tree: '#9dbfa6',
  own: '#0a6468',
  won: '#9a3f12',
  mark: '#2b1a3a',
  name: '#2b1a3a',
  nameBack: 'rgba(255, 252, 246, 0.82)',
  heat: [
    [255, 251, 243],
    [214, 226, 200],
    [140, 200, 186],
    [66, 152, 158],
    [36, 104, 130],
    [80, 50, 110],
    [62, 14, 60],
  ],
};
