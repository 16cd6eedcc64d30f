// Builds the template of a trial's report: one file that opens from a disk.
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { report } from './plugins/report.ts';

export default defineConfig({
  plugins: [svelte(), report()],
  build: {
    outDir: 'dist/report',
    emptyOutDir: true,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    modulePreload: false,
    rolldownOptions: { checks: { pluginTimings: false }, input: 'src/report/main.ts', output: { codeSplitting: false } },
  },
});
