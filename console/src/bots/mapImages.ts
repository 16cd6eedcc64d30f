// The pictures of maps, as the rule book drew them for docs/maps.md: files of their own, loaded when they are looked at.
const FILES = import.meta.glob<string>('../../../docs/maps/*.svg', { query: '?url', import: 'default', eager: true });

export function mapImage(name: string): string | undefined {
  return FILES[`../../../docs/maps/${name}.svg`];
}
