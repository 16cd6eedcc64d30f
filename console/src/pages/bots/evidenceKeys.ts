// The keys of the evidence page. What has the focus keeps its own keys.
export const TURN_KEYS = [
  { keys: '← →', does: 'One turn back, on' },
  { keys: 'Home, End', does: 'First, last turn' },
  { keys: 'p, n', does: 'Problem before, next problem' },
] as const;

interface Acts {
  step(by: number): void;
  first(): void;
  last(): void;
  noteworthy(direction: number): void;
}

export function onKey(event: KeyboardEvent, acts: Acts) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
  if (event.target instanceof Element && event.target.closest('input, select, textarea, dialog, pre')) return;
  const act = actionOf(event.key, acts);
  if (!act) return;
  event.preventDefault();
  act();
}

function actionOf(key: string, acts: Acts): (() => void) | null {
  switch (key) {
    case 'ArrowLeft':
      return () => acts.step(-1);
    case 'ArrowRight':
      return () => acts.step(1);
    case 'Home':
      return () => acts.first();
    case 'End':
      return () => acts.last();
    case 'n':
      return () => acts.noteworthy(1);
    case 'p':
      return () => acts.noteworthy(-1);
    default:
      return null;
  }
}
