// Tests of plain modules, of what the pages share, and of pages in a browser of their own: none needs anything of the build.
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

export default defineConfig({ plugins: [svelte({ configFile: false })], test: { testTimeout: 60_000, hookTimeout: 60_000, reporters: ['dot'] } });
