// The keys of the match page. What has the focus keeps its own keys: a slider its arrows, a button its space.
import type { Viewer } from './viewer.svelte.ts';

const MANY_TURNS = 10;

export const KEYS = [
  { keys: 'Space', does: 'Play, pause' },
  { keys: '← →', does: 'One turn back, on' },
  { keys: 'Shift ← →', does: 'Ten turns back, on' },
  { keys: 'Home, End', does: 'First, last turn' },
  { keys: '− +', does: 'Slower, faster' },
  { keys: 'L', does: 'Live' },
] as const;

export function handleKey(event: KeyboardEvent, viewer: Viewer) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
  const target = event.target instanceof Element ? event.target : null;
  if (target?.closest('input, select, textarea, dialog')) return;
  if (event.key === ' ' && target?.closest('button, summary, a')) return;
  const act = actionOf(event, viewer);
  if (!act) return;
  event.preventDefault();
  act();
}

function actionOf({ key, shiftKey }: KeyboardEvent, viewer: Viewer): (() => void) | null {
  const turns = shiftKey ? MANY_TURNS : 1;
  switch (key) {
    case ' ':
      return viewer.toggle;
    case 'ArrowLeft':
      return () => viewer.step(-turns);
    case 'ArrowRight':
      return () => viewer.step(turns);
    case 'Home':
      return () => viewer.seek(0);
    case 'End':
      return () => viewer.seek(viewer.lastTurn);
    case '+':
    case '=':
      return () => viewer.faster(1);
    case '-':
      return () => viewer.faster(-1);
    case 'l':
    case 'L':
      return viewer.isOver ? null : viewer.live;
    default:
      return null;
  }
}
