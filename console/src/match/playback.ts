// Where playback stands, as a number of turns with a fraction: 12.5 is half way from turn 12 to turn 13. Pure: time is handed in.

/** Turns a second. */
export const SPEEDS = [1, 2, 4, 8, 16, 32, 64] as const;
export const SPEED_USUAL = 8;

export interface Playback {
  /** From 0 to the last known turn. */
  readonly position: number;
  readonly isPlaying: boolean;
  readonly turnsPerS: number;
  /** Whether it stays at the newest turn. */
  readonly isLive: boolean;
}

export const AT_START: Playback = { position: 0, isPlaying: false, turnsPerS: SPEED_USUAL, isLive: false };

export function turnOf({ position }: Playback): number {
  return Math.floor(position);
}

/** How much of the match may lie ahead of a live picture before it hurries. */
const BEHIND_MAX_TURNS = 3;

/** Goes on by this time, up to the last turn. At the end of a match that is over, it stops. */
export function advance(playback: Playback, elapsedMs: number, lastTurn: number, isOver: boolean): Playback {
  const last = Math.max(0, lastTurn);
  if (playback.isLive) {
    if (isOver && playback.position >= last) return { ...playback, isLive: false, isPlaying: false };
    // Catching up is a jump; from then on each turn is walked to, a little faster than turns come.
    const position = last - playback.position > BEHIND_MAX_TURNS ? last - 1 : playback.position;
    return { ...playback, position: Math.min(last, Math.max(0, position) + (elapsedMs / 1_000) * Math.max(SPEED_USUAL, playback.turnsPerS)) };
  }
  if (!playback.isPlaying) return playback;
  const position = Math.min(last, playback.position + (elapsedMs / 1_000) * playback.turnsPerS);
  return { ...playback, position, isPlaying: position < last || !isOver };
}

/** To this turn, as far as there is one, and stays there. */
export function seek(playback: Playback, turn: number, lastTurn: number): Playback {
  const position = Math.min(Math.max(0, lastTurn), Math.max(0, Math.round(turn)));
  return { ...playback, position, isPlaying: false, isLive: false };
}

/** So many turns on, or back: a step from between two turns ends at the next one in its direction. */
export function step(playback: Playback, turns: number, lastTurn: number): Playback {
  const from = turns > 0 ? Math.floor(playback.position) : Math.ceil(playback.position);
  return seek(playback, from + turns, lastTurn);
}

/** Plays, from the start again where it has ended; or pauses at a whole turn. */
export function toggle(playback: Playback, lastTurn: number, isOver: boolean): Playback {
  if (playback.isPlaying || playback.isLive) return seek(playback, Math.floor(playback.position), lastTurn);
  const isAtEnd = isOver && playback.position >= lastTurn;
  return { ...playback, isPlaying: true, position: isAtEnd ? 0 : playback.position };
}

export function follow(playback: Playback): Playback {
  return { ...playback, isLive: true, isPlaying: false };
}

/** The next speed in this direction, 1 or -1. */
export function faster(playback: Playback, direction: number): Playback {
  const at = SPEEDS.findIndex((speed) => speed >= playback.turnsPerS);
  return { ...playback, turnsPerS: SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, at + direction))] ?? SPEED_USUAL };
}

/** The turn that a URL names; null where it names none. */
export function turnIn(query: URLSearchParams): number | null {
  const text = query.get('turn') ?? '';
  return /^\d{1,6}$/.test(text) ? Number(text) : null;
}
