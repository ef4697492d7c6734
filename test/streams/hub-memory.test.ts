// How long a hub has streams waited for that may not know what was withdrawn: those that were away then, and no others.

import { expect, it } from "vitest";
import { AWAY_MS, HubMemory, type MemoryStore } from "../../src/streams/hub-memory.ts";
import type { ChangeEvent } from "../../src/tenants/authority/changes.ts";

const EVENT: ChangeEvent = {
  log: "definitions",
  version: 2,
  after: 1,
  updated: [],
  listed: [],
  announced: [],
  policy: false,
  due: false,
  check: 2,
  close: null,
};

function memory() {
  const kept = new Map<string, string>();
  const store: MemoryStore = {
    get: (key: string) => JSON.parse(kept.get(key) ?? "null") ?? undefined,
    put: (key: string, value: unknown) => void kept.set(key, JSON.stringify(value)),
    delete: (key: string) => kept.delete(key),
  };
  const clock = { now: 1_000_000 };
  const hub = new HubMemory(store, 0, () => clock.now);
  hub.join(null, 1, () => 1);
  hub.learn({ definitions: 1, content: 0 });
  return { hub, clock };
}

it("those that are lost again and again hold up no withdrawal that was told before", () => {
  const { hub, clock } = memory();
  hub.told(EVENT, 1);
  for (let seconds = 2; seconds < 30; seconds += 1) {
    clock.now += 1_500;
    hub.lost();
    expect(hub.owed).toBe(0);
  }
  expect(hub.awaited).toBe(AWAY_MS);
});

it("those that were lost before it was told, or just then, are waited for, but no longer", () => {
  const { hub, clock } = memory();
  hub.lost();
  clock.now += 4_000;
  hub.told(EVENT, 1);
  expect(hub.owed).toBe(AWAY_MS - 4_000);
  clock.now += 500;
  hub.lost();
  expect(hub.owed).toBe(AWAY_MS);
  clock.now += 2_000;
  hub.lost();
  expect(hub.owed).toBe(AWAY_MS - 2_000);
  clock.now += AWAY_MS - 2_000;
  expect(hub.owed).toBe(0);
});

it("what others have told meanwhile, as an update of content, makes nobody wait longer", () => {
  const { hub, clock } = memory();
  hub.told(EVENT, 1);
  clock.now += 5_000;
  hub.lost();
  hub.told({ ...EVENT, log: "content", check: null }, 1);
  expect(hub.owed).toBe(0);
});
