// What a tab or a browser remembers, where it may: a browser can forbid pages to remember anything, and has no room for ever. Then nothing is
// kept, and the page goes on.

/** As much of a storage as is used. */
export type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** `open` gets the storage: where it is forbidden, even that throws. */
export function guarded(open: () => Store): Store {
  const allowed = <T>(use: (store: Store) => T): T | null => {
    try {
      return use(open());
    } catch {
      return null;
    }
  };
  return {
    getItem: (key) => allowed((store) => store.getItem(key)),
    setItem: (key, text) => void allowed((store) => store.setItem(key, text)),
    removeItem: (key) => void allowed((store) => store.removeItem(key)),
  };
}

/** Until the tab is closed, over reloads. */
export const ofTab = guarded(() => sessionStorage);
/** In all tabs of this browser, and later too. */
export const ofBrowser = guarded(() => localStorage);
