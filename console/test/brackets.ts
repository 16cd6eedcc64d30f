// Brackets as the server makes them (crates/engine/src/tournaments/bracket.rs), played to their end: the better seed always wins.
import type { TournamentPairing } from '../src/api/client.ts';

type Source = { entrant: number } | { winnerOf: number } | { loserOf: number } | null;

/** Seeds in the order of the places of a bracket. */
function seedOrder(size: number): readonly number[] {
  let order = [0];
  while (order.length < size) order = order.flatMap((seed) => [seed, 2 * order.length - 1 - seed]);
  return order;
}

class Maker {
  readonly pairings: TournamentPairing[] = [];

  add(stage: string, round: number, sources: readonly Source[]): number {
    const number = this.pairings.length;
    const comes = (source: Source): number | null => {
      if (source === null) return null;
      if ('entrant' in source) return source.entrant;
      const from = this.pairings['winnerOf' in source ? source.winnerOf : source.loserOf]!;
      const winner = from.winner;
      return 'winnerOf' in source ? winner : (from.players.map(({ entrant }) => entrant).find((entrant) => entrant !== null && entrant !== winner) ?? null);
    };
    const entrants = sources.map(comes);
    const present = entrants.filter((entrant) => entrant !== null);
    const winner = present.length > 0 ? Math.min(...present) : null;
    const decision = present.length === 2 ? 'games' : present.length === 1 ? 'bye' : 'empty';
    const players = sources.map((source, at) => ({
      entrant: entrants[at] ?? null,
      is_bye: entrants[at] === null,
      games_won: entrants[at] === winner && decision === 'games' ? 2 : 0,
      ...(source && 'winnerOf' in source && { winner_of: source.winnerOf }),
      ...(source && 'loserOf' in source && { loser_of: source.loserOf }),
    }));
    this.pairings.push({ number, stage, round, status: 'decided', players, games: [], winner, decision });
    return number;
  }

  round(stage: string, round: number, sources: readonly Source[]): readonly number[] {
    return Array.from({ length: sources.length / 2 }, (_, at) => this.add(stage, round, sources.slice(2 * at, 2 * at + 2)));
  }

  winners(field: number): readonly (readonly number[])[] {
    const size = 2 ** Math.ceil(Math.log2(Math.max(2, field)));
    let sources: readonly Source[] = seedOrder(size).map((seed) => (seed < field ? { entrant: seed } : null));
    const rounds: (readonly number[])[] = [];
    while (sources.length > 1) {
      const numbers = this.round('winners', rounds.length + 1, sources);
      sources = numbers.map((winnerOf) => ({ winnerOf }));
      rounds.push(numbers);
    }
    return rounds;
  }
}

export function single(field: number, hasThird = false): readonly TournamentPairing[] {
  const maker = new Maker();
  const before = maker.winners(field).at(-2);
  if (before && hasThird) maker.add('third_place', Math.ceil(Math.log2(field)), before.map((loserOf) => ({ loserOf })));
  return maker.pairings;
}

export function double(field: number): readonly TournamentPairing[] {
  const maker = new Maker();
  const [first, ...later] = maker.winners(field);
  let left: readonly Source[] = (first ?? []).map((loserOf) => ({ loserOf }));
  let [round, last]: [number, number | undefined] = [0, undefined];
  later.forEach((numbers, turn) => {
    const inner = maker.round('losers', ++round, left);
    const coming: Source[] = numbers.map((loserOf) => ({ loserOf }));
    if (turn % 2 === 0) coming.reverse();
    const outer = maker.round('losers', ++round, inner.flatMap((winnerOf, at) => [{ winnerOf }, coming[at] ?? null]));
    last = outer.at(-1);
    left = outer.map((winnerOf) => ({ winnerOf }));
  });
  const final = (later.at(-1) ?? first ?? [])[0] ?? 0;
  const grand = maker.add('grand_final', 1, [{ winnerOf: final }, last === undefined ? { loserOf: final } : { winnerOf: last }]);
  maker.add('final_reset', 1, [{ winnerOf: grand }, { loserOf: grand }]);
  maker.pairings[grand + 1] = { ...maker.pairings[grand + 1]!, decision: 'not_needed', winner: null };
  return maker.pairings;
}
