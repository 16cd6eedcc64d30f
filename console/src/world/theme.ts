// The colours of a canvas, which no style sheet reaches.

export interface Theme {
  readonly beyond: string;
  readonly field: string;
  readonly checker: string;
  readonly edge: string;
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
  beyond: '#0a0f0d',
  field: '#14211c',
  checker: '#172720',
  edge: '#2f4a3f',
  own: '#57d9a3',
  won: '#ffd75e',
  mark: '#ffffff',
  name: '#e8f3ee',
  nameBack: 'rgba(8, 14, 12, 0.72)',
  heat: [
    [13, 20, 18],
    [16, 52, 68],
    [20, 108, 124],
    [36, 176, 152],
    [122, 216, 108],
    [238, 226, 90],
    [255, 252, 224],
  ],
};

export const LIGHT: Theme = {
  beyond: '#dfe5dd',
  field: '#f4f8ef',
  checker: '#eaf2e3',
  edge: '#b9c9b4',
  own: '#0b7a53',
  won: '#9a4f00',
  mark: '#10201a',
  name: '#16231d',
  nameBack: 'rgba(255, 255, 255, 0.8)',
  heat: [
    [250, 252, 248],
    [168, 218, 170],
    [112, 196, 168],
    [66, 168, 163],
    [33, 116, 148],
    [44, 62, 126],
    [45, 13, 78],
  ],
};
