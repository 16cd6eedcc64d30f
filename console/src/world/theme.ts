// The colours of a canvas, which no style sheet reaches.

export interface Theme {
  readonly beyond: string;
  readonly field: string;
  readonly checker: string;
  readonly edge: string;
  readonly own: string;
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
  name: '#e8f3ee',
  nameBack: 'rgba(8, 14, 12, 0.72)',
  heat: [
    [13, 20, 18],
    [20, 54, 66],
    [22, 98, 104],
    [37, 150, 119],
    [110, 200, 104],
    [226, 226, 92],
    [255, 252, 214],
  ],
};

export const LIGHT: Theme = {
  beyond: '#dfe5dd',
  field: '#f4f8ef',
  checker: '#eaf2e3',
  edge: '#b9c9b4',
  own: '#0b7a53',
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
