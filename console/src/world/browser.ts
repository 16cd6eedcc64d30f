// The browser's socket, clock, chance and memory, as the link wants them.
import { ofBrowser, ofTab } from '../common/storage.ts';
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
    recall: () => remembered(ofTab.getItem(place)),
    remember: (resume) => {
      if (resume) ofTab.setItem(place, JSON.stringify(resume));
      else ofTab.removeItem(place);
    },
  };
}

/** What this window remembers of having been sent to another server for this world. */
export function sentFrom(world: string): Memory {
  const place = `gauntlet.sent.${world}`;
  return {
    recall: () => ofTab.getItem(place),
    remember: (text) => ofTab.setItem(place, text),
  };
}

/** What this browser remembers under a name, in all its windows and later too. */
export function kept(name: string): Memory {
  const place = `gauntlet.${name}`;
  return {
    recall: () => ofBrowser.getItem(place),
    remember: (text) => ofBrowser.setItem(place, text),
  };
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
