// What a 2025 session subscribed to: as the client wrote it, bounded, and gone with the session.

import { evictDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { MAX_SUBSCRIPTIONS } from "../../src/sessions/session-object.ts";
import { freshSession, later, NOTHING, storedIn, within } from "../support/workerd/session.ts";

it("a session remembers each resource once, as the client wrote it last, across an eviction", async () => {
  const session = freshSession();
  expect(await session.subscribe("note:b", "note:b", later())).toBe(true);
  expect(await session.subscribe("note:a", "NOTE:a", later())).toBe(true);
  expect(await session.subscribe("note:a", "Note:a", later())).toBe(true);
  await evictDurableObject(session);
  expect(await session.subscriptions()).toEqual([
    ["note:a", "Note:a"],
    ["note:b", "note:b"],
  ]);
  await session.unsubscribe("note:a");
  expect(await session.subscriptions()).toEqual([["note:b", "note:b"]]);
});

it("a session that only asked, or took back what it never had, leaves nothing behind", async () => {
  const session = freshSession();
  expect(await session.subscriptions()).toEqual([]);
  await session.unsubscribe("note:a");
  expect(await storedIn(session)).toEqual(NOTHING);
});

it("a session has room for so many subscriptions, and one that is there may be made again", async () => {
  const session = freshSession();
  await within(session, async (instance) => {
    for (let at = 0; at < MAX_SUBSCRIPTIONS; at += 1) await instance.subscribe(`note:${at}`, `note:${at}`, later());
  });
  expect(await session.subscribe("note:more", "note:more", later())).toBe(false);
  expect(await session.subscribe("note:7", "NOTE:7", later())).toBe(true);
  await session.unsubscribe("note:8");
  expect(await session.subscribe("note:more", "note:more", later())).toBe(true);
  const subscriptions = new Map(await within(session, (instance) => instance.subscriptions()));
  expect([subscriptions.size, subscriptions.get("note:7"), subscriptions.get("note:8")]).toEqual([
    MAX_SUBSCRIPTIONS,
    "NOTE:7",
    undefined,
  ]);
});

it("subscriptions have a bound in characters, too: the holder of the stream has them in memory", async () => {
  const session = freshSession();
  const uriOf = (at: number) => `note:${String(at).padEnd(2043, "x")}`;
  await within(session, async (instance) => {
    for (let at = 0; at < 64; at += 1) await instance.subscribe(uriOf(at), uriOf(at), later());
  });
  expect(await session.subscribe("note:a", "note:a", later())).toBe(false);
  expect(await session.subscribe(uriOf(7), "NOTE:7", later())).toBe(true);
  expect(await session.subscriptions()).toHaveLength(64);
});

it("subscriptions are gone with the session", async () => {
  const session = freshSession();
  await session.subscribe("note:a", "note:a", later());
  await session.end();
  expect(await session.subscriptions()).toEqual([]);
});
