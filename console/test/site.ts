// The built pages under the server's own headers, for tests that play the server.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Route } from 'playwright-core';

const SITE = join(import.meta.dirname, '..', 'dist', 'site');
const TYPES: Readonly<Record<string, string>> = { html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };
/** The server's own policy: what it forbids fails here too. */
const CSP = policyIn(readFileSync(join(import.meta.dirname, '..', '..', 'crates', 'gateway', 'src', 'console.rs'), 'utf8'));

function policyIn(source: string): string {
  const [, policy] = /const CSP: HeaderValue = HeaderValue::from_static\(\s*"([^"]+)"/.exec(source) ?? [];
  if (policy === undefined) throw new Error('crates/gateway/src/console.rs has no policy where this reads it');
  return policy;
}

/** A file of the console, or its one document for every other path. */
export function serveSite(route: Route, url: URL) {
  const file = url.pathname.startsWith('/console/') ? url.pathname.slice('/console/'.length) : 'index.html';
  if (!existsSync(join(SITE, file))) return route.fulfill({ status: 404 });
  const headers = { 'content-security-policy': CSP, 'content-type': TYPES[file.split('.').pop() ?? ''] ?? '' };
  return route.fulfill({ body: readFileSync(join(SITE, file)), headers });
}
