// What the viewer says in words: how a snake died, what was wrong with an answer, the picture for those who do not see it. English; pure.
import type { Frame, Snake } from './frame.ts';

export function deathText(snake: Snake, snakes: readonly Snake[]): string {
  if (!snake.death) return '';
  const by = snakes.find(({ id }) => id === snake.death?.by)?.name;
  return `${causeText(snake.death.cause, by)} in turn ${snake.death.turn.toLocaleString()}`;
}

function causeText(cause: string, by: string | undefined): string {
  switch (cause) {
    case 'wall-collision':
      return 'Left the board';
    case 'snake-self-collision':
      return 'Ran into itself';
    case 'snake-collision':
      return `Ran into ${by ?? 'another snake'}`;
    case 'head-collision':
      return `Lost head to head with ${by ?? 'another snake'}`;
    case 'out-of-health':
      return 'Starved';
    case 'hazard':
      return 'Died in a hazard';
    default:
      return cause ? `Died of ${cause}` : 'Died';
  }
}

const ERRORS: Readonly<Record<string, string>> = {
  late: 'answered too late',
  unreachable: 'could not be reached',
  bad_status: 'answered with an error',
  oversized: 'answered at too great length',
  malformed: 'answered with what is no move',
  unknown_move: 'named a move that is none',
  forbidden: 'may not be called',
};

/** What was wrong with a snake's last answer; empty for nothing. */
export function errorText(error: string): string {
  return error && (ERRORS[error] ?? `failed to answer: ${error}`);
}

export function frameText(frame: Frame): string {
  const snakes = frame.snakes.map((snake) => {
    if (snake.death) return `${snake.name} is dead`;
    return `${snake.name}: health ${snake.health}, length ${snake.body.length}, head at column ${(snake.body[0]?.x ?? 0) + 1}, row ${(snake.body[0]?.y ?? 0) + 1}`;
  });
  return `Turn ${frame.turn}. ${snakes.join('. ')}.`;
}

/** How a match that is over ended: its last turn says who lives. */
export function resultText(frame: Frame): string {
  const alive = frame.snakes.filter(({ death }) => !death);
  if (frame.snakes.length === 1) return `Over after ${frame.turn.toLocaleString()} turns`;
  const [winner] = alive;
  return winner && alive.length === 1 ? `${winner.name} wins` : alive.length === 0 ? 'A draw' : 'Over without a winner';
}
