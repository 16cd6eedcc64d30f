// Bans and the audit log: what is read and made of them, and how a list is looked through.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { answer, refused, settled } from './browser.ts';
import { FilteredList } from '../../src/common/filtered-list.svelte.ts';
import { List } from '../../src/common/list.svelte.ts';
import { actionText, auditPath, cursorBefore, entryOfBan, filterIn, isOutcome, OPERATIONS, serverFilter, targetParts, timeShown, timeTyped, whoText } from '../../src/operate/audit.ts';
import { addressesText, bannedName, endOf, isWanted, kindOf, playerIn } from '../../src/operate/bans.ts';
import { BANS as WORDS } from '../../src/operate/words.ts';
import { ban, BANS, ENTRIES, entry, ID, uuid } from '../operate.ts';
import document from '../../../docs/openapi.json';

describe('bans', () => {
  test('kinds and names', () => {
    expect(BANS.map(kindOf)).toEqual(['account', 'guest', 'address', 'disabled', 'address']);
    expect(BANS.map(bannedName)).toEqual(['cheater', uuid(42), '2001:db8::/32', 'A name of many words, number 44', '198.51.100.0/24']);
    expect(bannedName(ban(1, { address: null, account: uuid(41) }))).toBe(uuid(41));
  });
  test.each<[string, string, readonly number[]]>([
    ['', '', [0, 1, 2, 3, 4]],
    ['address', '', [2, 4]],
    ['disabled', '', [3]],
    ['', ' CHEAT', [0]],
    ['', 'olga', [0, 1, 2, 3]],
    ['', 'command line', [4]],
    ['', 'insults', [1]],
    ['', uuid(44), [3]],
    ['guest', 'floods', []],
  ])('of kind %j with %j', (kind, letters, want) => expect(BANS.flatMap((one, at) => (isWanted(one, kind, letters) ? [at] : []))).toEqual(want));
  test.each<[string, string | null]>([
    [ID, ID],
    [` ${ID.toUpperCase()} `, ID],
    [`https://play.example/hunters/${ID}`, ID],
    [`/hunters/${ID}?tab=x`, ID],
    // Ids of tables look the same, and a guest of that id would be banned.
    [`https://play.example/stories/${ID}`, null],
    [`${ID}0`, null],
    ['Rude guest', null],
    ['', null],
  ])('the player in %j', (typed, want) => expect(playerIn(typed)).toBe(want));
  const NOW = Date.parse('2026-01-02T03:04:05Z');
  test.each<[string, string, ReturnType<typeof endOf>]>([
    ['hour', '', { seconds: 3_600 }],
    ['never', '', { seconds: null }],
    ['time', new Date(NOW + 90_500).toISOString(), { seconds: 91 }],
    ['time', new Date(NOW).toISOString(), { error: WORDS.endPast }],
    ['time', 'tomorrow', { error: WORDS.endPast }],
    ['time', new Date(NOW + 315_360_001_000).toISOString(), { error: WORDS.endFar }],
  ])('an end %s %s', (name, time, want) => expect(endOf(name, time, NOW)).toEqual(want));
  test.each([
    ['192.0.2.7', '1 address'],
    ['192.0.2.0/24', '256 addresses'],
    ['10.0.0.0/8', '16,777,216 addresses'],
    ['2001:db8::/32', 'all addresses whose first 32 bits are the same'],
    ['192.0.2.0/33', ''],
    ['somewhere', ''],
  ])('%s is %j', (address, want) => expect(addressesText(address)).toBe(want));
});

describe('the audit log', () => {
  test('all operations that leave an entry have words', () => {
    const paths = Object.entries(document.paths) as [string, Record<string, { operationId?: string }>][];
    const writes = paths.flatMap(([path, methods]) => Object.entries(methods).flatMap(([method, { operationId = '' }]) => (path.startsWith('/api/admin/') && method !== 'get' ? [operationId] : [])));
    const [, others = ''] = /OPERATIONS: \[&str; \d+\] = \[([^\]]+)\]/.exec(readFileSync(join(import.meta.dirname, '../../../crates/gateway/src/audit.rs'), 'utf8')) ?? [];
    const recorded = [...others.matchAll(/"(\w+)"/g)].map(([, name = '']) => name);
    expect(recorded.length).toBeGreaterThan(20);
    const known = OPERATIONS.flatMap(([, operations]) => operations.map(([name]) => name));
    expect([...writes, ...recorded].filter((name) => !known.includes(name))).toEqual([]);
    const every = paths.flatMap(([, methods]) => Object.values(methods).map(({ operationId }) => operationId));
    expect(known.filter((name) => !every.includes(name))).toEqual([]);
    expect(actionText('sow_something_new')).toBe('sow_something_new');
  });
  test('who did it', () => expect([entry(1), entry(1, { account_name: null }), entry(1, { account_name: null, account: null })].map(whoText)).toEqual(['Olga', uuid(1), 'The command line']));
  test.each([
    ['', 6],
    ['done', 5],
    ['refused', 1],
  ])('outcomes %j', (wanted, count) => expect(ENTRIES.filter((one) => isOutcome(one, wanted))).toHaveLength(count));
  test('the URL holds the filter, and the server gets what it filters by', () => {
    const path = auditPath({ action: 'drain', target: 'node:a:1', outcome: 'done', from: '' });
    expect(path).toBe('/operate?tab=audit&action=drain&target=node%3Aa%3A1&outcome=done');
    const query = new URL(path, 'http://x').searchParams;
    expect(serverFilter(filterIn((name) => query.get(name)))).toEqual({ action: 'drain', target: 'node:a:1' });
  });
  test('times go there and back', () => {
    expect(timeTyped(timeShown('2026-07-02T03:04:05.000Z'))).toBe('2026-07-02T03:04:05.000Z');
    expect([timeTyped(''), timeShown('soon')]).toEqual(['', '']);
  });
  test.each([
    [0, 'create_ban', `account:${uuid(41)}`],
    [1, 'create_ban', `guest:${uuid(42)}`],
    [2, 'create_ban', 'address:2001:db8::/32'],
    [3, 'disable_account', `account:${uuid(44)}`],
  ])('the entry of ban %i', (at, action, target) => {
    const query = new URL(entryOfBan(BANS[at]!), 'http://x').searchParams;
    expect(Object.fromEntries(query)).toEqual({ tab: 'audit', action, target, from: '2026-01-02T03:03:05.000Z', until: '2026-01-02T03:05:05.000Z' });
  });
  test.each([
    ['01a20a0e-e204-71dd-a91a-45e6f3d457af', '01a20a0e-e204-71dd-a91a-45e6f3d457b0'],
    ['01a20a0e-e204-71dd-ffff-ffffffffffff', '01a20a0e-e204-71de-0000-000000000000'],
    ['00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000001'],
  ])('behind %s', (id, want) => expect(cursorBefore(id)).toBe(want));
  test.each([
    ['address:2001:db8::/32', '2001:db8::/32', '', true],
    [`game:${ID}`, ID, `/games/${ID}`, false],
    ['hunt:harbour', 'harbour', '/hunts/harbour', false],
    ['world:a/../b', 'a/../b', '/world?world=a%2F..%2Fb', false],
    [`disabled:${ID}`, ID, '', true],
    ['javascript:alert(1)', 'alert(1)', '', false],
    ['nothing', 'nothing', '', false],
  ])('%s', (target, id, href, isBannable) => expect(targetParts(target)).toMatchObject({ id, href, isBannable }));
});

/** A list of so many numbers, a hundred to a page, looked through as an effect would. */
async function looked(count: number, holds: (row: number) => boolean) {
  let isRefusing = false;
  const list = new List<number>(
    async (after) => {
      const from = Number(after ?? 0);
      const rows = Array.from({ length: Math.min(100, count - from) }, (_, at) => from + at);
      return isRefusing ? refused(503, 'busy') : answer(rows, from + 100 < count ? { link: `</rows?after=${from + 100}>; rel="next"` } : {});
    },
    (row) => row,
  );
  const found = new FilteredList(list, holds);
  const read = async () => {
    for (let round = 0; round < 50; round += 1) {
      found.read();
      await settled();
    }
    return [found.rows.length, found.lookedAt, found.hasMore];
  };
  vi.useFakeTimers();
  list.start();
  await settled();
  return { found, read, refuse: (is: boolean) => (isRefusing = is) };
}

describe('a list that the page filters', () => {
  test.each<[string, number, (row: number) => boolean, readonly unknown[]]>([
    ['of which all is shown reads one page', 2_500, () => true, [100, 100, true]],
    ['reads until there is enough', 2_500, (row) => row % 2 === 0, [100, 200, true]],
    ['stops after a thousand rows', 2_500, (row) => row > 2_000, [0, 1_000, true]],
    ['ends where the rows do', 250, (row) => row === 249, [1, 250, false]],
  ])('%s', async (_, count, holds, want) => expect(await (await looked(count, holds)).read()).toEqual(want));
  test('goes on when asked, stops at a failure, and goes on again', async () => {
    const { found, read, refuse } = await looked(2_500, (row) => row > 2_000);
    await read();
    refuse(true);
    found.more();
    expect(await read()).toEqual([0, 1_000, true]);
    expect(found.list.refusal).toContain('busy');
    refuse(false);
    found.more();
    expect(await read()).toEqual([0, 2_000, true]);
    found.more();
    expect(await read()).toEqual([100, 2_200, true]);
    found.more();
    expect(await read()).toEqual([200, 2_300, true]);
  });
});
