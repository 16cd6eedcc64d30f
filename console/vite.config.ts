// Builds the pages that the binary embeds. Everything is one origin's own: no inline script or style, so that the
// server's content security policy needs no exception.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';
import { documents } from './plugins/documents.ts';

const server = process.env['CONSOLE_SERVER_URL'] ?? 'http://127.0.0.1:4000';

/** Writes `x.br` beside every file that Brotli makes smaller: the server sends it to browsers that take it, and compresses no page itself. Of the
 * files as they are written: until then other plugins change what is in them. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    writeBundle({ dir = '' }, bundle) {
      for (const file of Object.keys(bundle)) {
        const source = readFileSync(join(dir, file));
        const small = brotliCompressSync(source, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } });
        if (small.length < source.length) writeFileSync(join(dir, `${file}.br`), small);
      }
    },
  };
}

export default defineConfig({
  plugins: [svelte(), documents(), compressed()],
  base: '/console/',
  build: { outDir: 'dist/site', emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false }, manifest: 'manifest.json', rolldownOptions: { checks: { pluginTimings: false } } },
  // The pictures of maps are those of the documentation.
  server: { proxy: { '/api': { target: server, ws: true } }, fs: { allow: ['..'] } },
});
