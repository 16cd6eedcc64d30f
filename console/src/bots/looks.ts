// How a bot is drawn in a list: as in its last match, or by its seat where nothing is known of it. Pure.
import { colorOfSeat } from '../match/frame.ts';

export interface Look {
  readonly color: string;
  readonly head: string;
}

interface Face {
  readonly color: string;
  readonly head: string;
}

/** What comes from the network is checked: a colour goes into drawings. */
export function lookOf(face: Face | undefined | null, seat = 0): Look {
  if (!face || !/^#[0-9a-f]{6}$/i.test(face.color)) return { color: colorOfSeat(seat), head: face?.head ?? 'default' };
  return { color: face.color.toLowerCase(), head: face.head };
}
