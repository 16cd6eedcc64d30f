// What of gifenc is used; the package has no types of its own.
declare module 'gifenc' {
  type Palette = readonly (readonly number[])[];
  export function GIFEncoder(): {
    writeFrame(index: Uint8Array, width: number, height: number, options: { palette?: Palette; delay: number; repeat?: number; transparent: boolean; transparentIndex: number; dispose: number }): void;
    finish(): void;
    bytes(): Uint8Array<ArrayBuffer>;
  };
  export function quantize(rgba: Uint8ClampedArray, colors: number, options?: { format: 'rgb565' }): Palette;
  export function applyPalette(rgba: Uint8ClampedArray, palette: Palette, format: 'rgb565'): Uint8Array;
}
