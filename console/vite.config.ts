// Builds the pages that the binary embeds. Everything is one origin's own: no inline script or style, so that the
// server's content security policy needs no exception.
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

const server = process.env['CONSOLE_SERVER_URL'] ?? 'http://127.0.0.1:4000';

export default defineConfig({
  plugins: [svelte()],
  base: '/console/',
  build: {
    outDir: 'dist/site',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { input: { world: 'world.html' } },
  },
  server: { proxy: { '/api': { target: server, ws: true } } },
});
