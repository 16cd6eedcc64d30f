// Words for people: what programs say, numbers and times, as a page shows them. Pure.

/** What a server says in passing, as a sentence. */
export function sentence(text: string): string {
  const whole = /[.!?…]$/.test(text) ? text : `${text}.`;
  return whole.charAt(0).toUpperCase() + whole.slice(1);
}

/** Minutes and seconds that are left: 0 only when none is. */
export function clock(leftMs: number): string {
  const seconds = Math.max(0, Math.ceil(leftMs / 1_000));
  return `${Math.floor(seconds / 60)}:${`${seconds % 60}`.padStart(2, '0')}`;
}

/** How many of what: `1 chest`, `2,000 chests`. */
export function counted(count: number, what: string): string {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;
}

/** How a player looks: by the name, so that several in one place can be told apart and each keeps a face. */
export function lookOf(name: string): string {
  const sum = [...name].reduce((sum, letter) => (Math.imul(sum, 31) + (letter.codePointAt(0) ?? 0)) >>> 0, 7);
  return LOOKS[name ? sum % LOOKS.length : 0] ?? NOBODY;
}

/** How several in one place look: each as their name has it, or the next look where another one has that already. */
export function looksOf(names: readonly string[]): readonly string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    const first = LOOKS.indexOf(lookOf(name));
    const look = LOOKS.map((_, at) => LOOKS[(first + at) % LOOKS.length] ?? NOBODY).find((other) => !taken.has(other)) ?? lookOf(name);
    taken.add(look);
    return look;
  });
}

const NOBODY = '😁';
/** Of those that servers know: the ones that are nothing else in a world. */
export const LOOKS: readonly string[] = [NOBODY, '😎', '🤠', '🦊', '🐸', '🐼', '🐙', '🦄', '🐝', '👻', '👽', '🐢'];
