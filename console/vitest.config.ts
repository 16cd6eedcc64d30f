// Tests of plain modules, of what the pages share, and of pages in a browser of their own: none needs anything of the build.
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// What is waited for has three minutes, as in test/chromium.ts, and a test has ten: these end what hangs, and hold no test to a speed.
export default defineConfig({
  plugins: [svelte({ configFile: false })],
  test: { testTimeout: 600_000, hookTimeout: 180_000, expect: { poll: { timeout: 180_000 } }, reporters: ['dot'] },
});
