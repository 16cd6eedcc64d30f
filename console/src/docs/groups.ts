// In which order documents are listed, and under which heads. Pure.

export interface Named {
  readonly name: string;
  readonly title: string;
}

const GROUPS: readonly (readonly [string, readonly string[]])[] = [
  ['Play', ['stories', 'world', 'hunt', 'games', 'maps']],
  ['Bots and competitions', ['bots', 'ladders', 'tournaments', 'duels', 'replay']],
  ['Trials', ['scenario', 'run']],
  ['Run a server', ['accounts', 'moderation', 'limiter', 'proxy', 'console']],
];

/** Every document once: what no group names stands under the last heads, so that a new one is never lost. */
export function grouped<T extends Named>(documents: readonly T[]): readonly (readonly [string, readonly T[]])[] {
  const named = GROUPS.map(([title, names]) => [title, names.flatMap((name) => documents.filter((document) => document.name === name))] as const);
  const isBehind = ({ name }: T) => /^(decision|lifecycle)/.test(name);
  const known = new Set(GROUPS.flatMap(([, names]) => names));
  const others = documents.filter((document) => !known.has(document.name) && !isBehind(document));
  return ([...named, ['More', others], ['How things work inside', documents.filter(isBehind)]] as const).filter(([, list]) => list.length > 0);
}
