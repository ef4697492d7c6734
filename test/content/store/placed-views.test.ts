// Views whose patterns say nothing of places: what they cost whoever writes, what holds while they are placed, and how many
// there may be.

import { expect, it } from "vitest";
import type { Patterns } from "../../../src/tenants/document/tenant-document.ts";
import { contentTables, type ContentMethods } from "../../../src/content/store/content-tables.ts";
import { putOf } from "../../support/worker/resources.ts";
import { onBench, type Bench } from "../../support/worker/tenant.ts";

const MOST_VIEWS = 32;
const ROWS_AT_ONCE = 500;
const TEXTS_AT_ONCE = 20;
const DAY_MS = 86_400_000;

type ContentBench = Bench<ContentMethods>;

const hiding = (end: string): readonly Patterns[] => [{ deny: [`*${end}`] }];
/** In KV every body says the same. */
const env = { BODIES: { get: async () => new Blob(["sought"]).stream() } };

async function placeAll({ open, clock }: ContentBench): Promise<number> {
  let alarms = 1;
  while ((await open.alarm?.(clock.now)) === clock.now) alarms += 1;
  return alarms;
}

function write({ methods }: ContentBench, uris: readonly string[]): void {
  for (const uri of uris) methods.put(putOf(uri, { tags: ["a", "b"] }, { searchText: "sought" }));
}

const some = (count: number, end = "") => Array.from({ length: count }, (_none, at) => `note:${1000 + at}${end}`);
const list = ({ methods }: ContentBench, only: readonly Patterns[], tag: string | null = null) =>
  methods.listSeen({ prefix: "", tag, after: null, limit: 1000 }, only).rows.map(({ uri }) => uri);
const search = ({ methods }: ContentBench, only: readonly Patterns[]) =>
  methods.search({ match: "sought", prefix: "", limit: 1000, only }).map(({ uri }) => uri);
const viewRows = ({ sql }: ContentBench) =>
  sql.exec<{ rows: number }>("SELECT count(*) AS rows FROM view_uris").one().rows - 1;
const kept = ({ sql }: ContentBench) =>
  (JSON.parse(sql.exec<{ views: string }>("SELECT views FROM placed_views").one().views) as object[]).length;

it("have whoever writes read nothing more, and write a row for each that sees what is new", async () => {
  const costs = (views: number) =>
    onBench(contentTables, async (bench) => {
      const { methods, rowsFor, writtenFor } = bench;
      for (let at = 0; at < views; at += 1) methods.tags("", hiding(`hidden${at}`));
      await placeAll(bench);
      const step = (work: (uri: string) => unknown) => ({
        read: rowsFor(() => work("note:one")),
        written: writtenFor(() => work("note:two")),
      });
      const put = (uri: string) => {
        write(bench, [uri]);
      };
      return { created: step(put), written: step(put), deleted: step((uri) => methods.remove(uri)) };
    });
  const [alone, many] = [await costs(0), await costs(MOST_VIEWS)];
  expect(many).toEqual({
    created: { read: alone.created.read, written: alone.created.written + MOST_VIEWS },
    written: alone.written,
    // Here a row is read, too, for each of them.
    deleted: { read: alone.deleted.read + MOST_VIEWS, written: alone.deleted.written + MOST_VIEWS },
  });
});

it("are placed some rows and texts at a time, and lose and show nothing meanwhile", async () => {
  const work = async (bench: ContentBench) => {
    const shown = some(600, "-shown");
    write(bench, [...shown, ...some(90, "-private")]);
    const only = hiding("-private");
    const look = () => {
      expect(list(bench, only)).toEqual(shown.filter((uri) => uri !== "note:1007-shown"));
      expect(list(bench, only, "b")).toEqual(list(bench, only));
      expect(list(bench, only, "nobody's")).toEqual([]);
      expect(bench.methods.tags("", only)).toEqual(["a", "b"].map((tag) => ({ tag, count: 599 })));
      expect(search(bench, only).toSorted()).toEqual(list(bench, only));
    };
    bench.methods.remove("note:1007-shown");
    look();
    let alarms = 0;
    for (let [next, rows] = [bench.clock.now, 0]; next === bench.clock.now; alarms += 1) {
      next = (await bench.open.alarm?.(bench.clock.now)) ?? 0;
      expect(viewRows(bench) - rows).toBeLessThanOrEqual(ROWS_AT_ONCE);
      rows = viewRows(bench);
      // What is written and deleted in between is placed once, wherever the alarms are.
      write(bench, ["note:1005-shown", "note:1005-private", "note:9-private"]);
      bench.methods.remove("note:9-private");
      look();
    }
    expect(alarms).toBeGreaterThan(90 / TEXTS_AT_ONCE);
    expect(viewRows(bench)).toBe(599);
  };
  await onBench(contentTables, work, { env });
}, 120_000);

it("are searched by what is placed already, the newest first", async () => {
  const work = async (bench: ContentBench) => {
    write(bench, ["note:seen", ...some(3050, "-private")]);
    const only = hiding("-private");
    expect(search(bench, only)).toEqual([]);
    for (let texts = 0; texts < 60; texts += TEXTS_AT_ONCE) await bench.open.alarm?.(bench.clock.now);
    expect(bench.sql.exec("SELECT 1 FROM view_uris WHERE uri = 'note:seen'").toArray()).toEqual([]);
    expect(search(bench, only)).toEqual(["note:seen"]);
  };
  await onBench(contentTables, work, { env });
}, 120_000);

it("wait while their texts cannot be read, and show no less", async () => {
  let isAway = true;
  const get = async () => (isAway ? Promise.reject(new Error("KV is away")) : new Blob(["sought"]).stream());
  const work = async (bench: ContentBench) => {
    write(bench, ["note:seen", "note:one-private"]);
    expect(list(bench, hiding("-private"))).toEqual(["note:seen"]);
    expect(await bench.open.alarm?.(bench.clock.now)).toBe(bench.clock.now + 60_000);
    expect([list(bench, hiding("-private")), viewRows(bench)]).toEqual([["note:seen"], 0]);
    isAway = false;
    await placeAll(bench);
    expect([search(bench, hiding("-private")), viewRows(bench)]).toEqual([["note:seen"], 1]);
  };
  await onBench(contentTables, work, { env: { BODIES: { get } } });
});

it("have what is deleted and written anew while texts are read as it is then", async () => {
  const stored: { meanwhile?: () => void } = {};
  const get = async () => {
    stored.meanwhile?.();
    return new Blob(["sought"]).stream();
  };
  const work = async (bench: ContentBench) => {
    const only = hiding("-private");
    write(bench, ["note:gone", "note:stays", "note:gone-private", "note:anew-private"]);
    expect(list(bench, only)).toEqual(["note:gone", "note:stays"]);
    stored.meanwhile = () => {
      for (const uri of ["note:gone", "note:gone-private"]) bench.methods.remove(uri);
      bench.methods.put(putOf("note:anew-private", {}, { searchText: "other" }));
    };
    await placeAll(bench);
    expect(viewRows(bench)).toBe(1);
    expect([list(bench, only), search(bench, only)]).toEqual([["note:stays"], ["note:stays"]]);
    const found = bench.methods.search({ match: "sought OR other", prefix: "", limit: 9 }).map(({ uri }) => uri);
    expect(found.toSorted()).toEqual(["note:anew-private", "note:stays"]);
  };
  await onBench(contentTables, work, { env: { BODIES: { get } } });
});

it("are others when a pattern changes, and what the earlier one hid is shown", async () => {
  const work = async (bench: ContentBench) => {
    write(bench, ["note:a-private", "note:b-secret", "note:c"]);
    for (const [end, shown] of [
      ["-private", ["note:b-secret", "note:c"]],
      ["-secret", ["note:a-private", "note:c"]],
      ["-private", ["note:b-secret", "note:c"]],
    ] as const) {
      for (const isPlaced of [false, true]) {
        expect([list(bench, hiding(end)), search(bench, hiding(end)).toSorted()]).toEqual([shown, shown]);
        if (!isPlaced) await placeAll(bench);
      }
    }
    expect(kept(bench)).toBe(2);
  };
  await onBench(contentTables, work, { env });
});

it(`are kept for ${MOST_VIEWS} at most: others are looked through as they are, until one is not used for a day`, async () => {
  const work = async (bench: ContentBench) => {
    const { methods, clock, rowsFor, wakes } = bench;
    write(bench, ["note:seen", ...some(30, "-private")]);
    for (let at = 0; at < MOST_VIEWS; at += 1) methods.tags("", hiding(`hidden${at}`));
    await placeAll(bench);
    const look = () => rowsFor(() => expect(list(bench, hiding("-private"))).toEqual(["note:seen"]));
    const woken = wakes.length;
    expect(look()).toBeGreaterThan(30);
    await placeAll(bench);
    expect(look()).toBeGreaterThan(30);
    expect([kept(bench), wakes.length]).toEqual([MOST_VIEWS, woken]);
    clock.now += 2 * DAY_MS;
    methods.tags("", hiding("hidden0"));
    look();
    await placeAll(bench);
    expect(kept(bench)).toBe(1);
    expect(viewRows(bench)).toBe(31);
    look();
    await placeAll(bench);
    expect(look()).toBeLessThan(10);
  };
  await onBench(contentTables, work, { env });
});

it("are given up when nobody looks through them for a month, some rows at a time, and their words mean nothing then", async () => {
  const work = async (bench: ContentBench) => {
    const { methods, clock, open } = bench;
    write(bench, [...some(2500), "note:x-private"]);
    methods.tags("", hiding("-private"));
    await placeAll(bench);
    clock.now += 31 * DAY_MS;
    expect(await open.alarm?.(clock.now)).toBe(clock.now);
    expect([viewRows(bench), kept(bench)]).toEqual([500, 1]);
    await placeAll(bench);
    expect([viewRows(bench), kept(bench)]).toEqual([0, 0]);
    // Another one comes: it has another number.
    expect(search(bench, hiding("note:1000")).slice(0, 1)).toEqual(["note:x-private"]);
    await placeAll(bench);
    expect(search(bench, hiding("note:1000")).slice(0, 1)).toEqual(["note:x-private"]);
  };
  await onBench(contentTables, work, { env });
}, 120_000);
