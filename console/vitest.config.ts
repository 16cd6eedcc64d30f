// Tests of plain modules, and of pages in a browser of their own: neither needs anything of the build.
import { defineConfig } from 'vitest/config';

export default defineConfig({ test: { testTimeout: 60_000, hookTimeout: 60_000, reporters: ['dot'] } });
