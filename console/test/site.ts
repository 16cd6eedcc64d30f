// The built pages under the server's own headers, for tests that play the server.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Route } from 'playwright-core';

const SITE = join(import.meta.dirname, '..', 'dist', 'site');
const TYPES: Readonly<Record<string, string>> = { html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };
/** The server's policy, as crates/gateway/src/console.rs has it: what it forbids fails here too. */
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A file of the console, or its one document for every other path. */
export function serveSite(route: Route, url: URL) {
  const file = url.pathname.startsWith('/console/') ? url.pathname.slice('/console/'.length) : 'index.html';
  if (!existsSync(join(SITE, file))) return route.fulfill({ status: 404 });
  const headers = { 'content-security-policy': CSP, 'content-type': TYPES[file.split('.').pop() ?? ''] ?? '' };
  return route.fulfill({ body: readFileSync(join(SITE, file)), headers });
}
