// The browser's socket, clock, chance and memory, as the link wants them.
import { refusal } from './api.ts';
import type { Memory } from './elsewhere.ts';
import type { Resume } from './protocol.ts';
import type { Socket, Surroundings } from './link.ts';

/** The surroundings of a page that plays in this world. */
export function browser(world: string): Surroundings {
  // Of this window alone: another one is another mover.
  const place = `gauntlet.mover.${world}`;
  const socket = `/api/worlds/${encodeURIComponent(world)}/socket`;
  return {
    open: () => {
      const url = new URL(socket, location.href);
      url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
      return new WebSocket(url) as Socket;
    },
    explain: (tell) => void refusal(socket).then(tell),
    nowMs: () => performance.now(),
    wallMs: () => Date.now(),
    chance: () => Math.random(),
    after: (delayMs, then) => {
      const timer = setTimeout(then, delayMs);
      return () => clearTimeout(timer);
    },
    recall: () => allowed(() => remembered(sessionStorage.getItem(place))) ?? null,
    remember: (resume) => {
      allowed(() => {
        if (resume) sessionStorage.setItem(place, JSON.stringify(resume));
        else sessionStorage.removeItem(place);
      });
    },
  };
}

/** What this window remembers of having been sent to another server for this world. */
export function sentFrom(world: string): Memory {
  const place = `gauntlet.sent.${world}`;
  return {
    recall: () => allowed(() => sessionStorage.getItem(place)) ?? null,
    remember: (text) => allowed(() => sessionStorage.setItem(place, text)),
  };
}

/** What this browser remembers under a name, in all its windows and later too. */
export function kept(name: string): Memory {
  const place = `gauntlet.${name}`;
  return {
    recall: () => allowed(() => localStorage.getItem(place)) ?? null,
    remember: (text) => allowed(() => localStorage.setItem(place, text)),
  };
}

/** A browser may forbid pages to remember anything: then a reload is a newcomer. */
function allowed<T>(use: () => T): T | undefined {
  try {
    return use();
  } catch {
    return undefined;
  }
}

function remembered(text: string | null): Resume | null {
  if (text === null) return null;
  try {
    const { id, key } = JSON.parse(text) as Partial<Resume>;
    return typeof id === 'number' && typeof key === 'string' ? { id, key } : null;
  } catch {
    return null;
  }
}
