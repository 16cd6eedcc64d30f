// A world that lives on another server: where to go, and when to stop going by itself. Two servers that each name the other (a
// world on the move), or an address that this browser cannot reach, must not send anybody in circles. Pure: memory and clock are
// handed in.

/** A visitor who comes back within this time was sent in vain. */
const AGAIN_MIN_MS = 30_000;

export interface Memory {
  recall(): string | null;
  remember(text: string): void;
}

/** The origin of a server's address, which may come without its scheme; nothing where that is none. */
export function origin(address: string, scheme: string): string {
  const url = address.includes('://') ? address : `${scheme}//${address}`;
  if (!address || !URL.canParse(url)) return '';
  const { protocol, origin } = new URL(url);
  return protocol === 'http:' || protocol === 'https:' ? origin : '';
}

/** The page of a world at that origin; without one, at this server. */
export function pageOf(origin: string, world: string): string {
  return `${origin}/world?${new URLSearchParams({ world })}`;
}

/** Whether to go there without being asked. A visitor who goes is remembered; where nothing can be remembered, none goes. */
export function mayGo(there: string, memory: Memory, nowMs: number): boolean {
  const [before, atMs] = (memory.recall() ?? '').split(' ');
  if (!there || (before === there && nowMs - Number(atMs) < AGAIN_MIN_MS)) return false;
  const text = `${there} ${nowMs}`;
  memory.remember(text);
  return memory.recall() === text;
}
