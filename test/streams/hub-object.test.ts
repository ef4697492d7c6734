// Who listens to a tenant: every open socket hears of every change, and of those who are replaced, withdrawn or ended none.

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { openSocket } from "../../src/streams/reconnecting-web-socket.ts";
import { MAX_STREAMS, type HubObject } from "../../src/streams/hub-object.ts";
import type { Listener } from "../../src/streams/socket-messages.ts";
import type { ChangeEvent } from "../../src/tenants/object/changes.ts";
import { changeEvent, LISTENER, listenAt } from "../support/workerd/hubs.ts";

let made = 0;
function freshHub() {
  made += 1;
  const name = `hub-${made}`;
  return { name, hub: exports.HubObject.getByName(name) };
}

const event = (version: number, about: Partial<ChangeEvent> = {}): ChangeEvent =>
  changeEvent({ version, after: version - 1, updated: [`note:${version}`], ...about });

describe("a change", () => {
  it("reaches every stream, in order, and its sender hears how many there are", async () => {
    const { name, hub } = freshHub();
    expect(await hub.publish(event(1))).toBe(0);
    const listeners = await Promise.all(["s1", "s2", null].map((session) => listenAt(name, { session })));
    for (const version of [2, 3, 4]) expect(await hub.publish(event(version))).toBe(3);
    for (const listener of listeners) {
      for (const version of [2, 3, 4]) expect(await listener.next()).toEqual(event(version));
    }
  });

  it("wakes a hub that was evicted", async () => {
    const { name, hub } = freshHub();
    const listener = await listenAt(name);
    await evictDurableObject(hub, { webSockets: "hibernate" });
    expect(await hub.publish(event(1))).toBe(1);
    expect(await listener.next()).toEqual(event(1));
  });

  it("is counted as heard by one at least while streams may come back to a hub that was reset", async () => {
    const { name, hub } = freshHub();
    const listener = await listenAt(name);
    await hub.publish(event(1));
    expect(await hub.reconnectWindowMs()).toBe(0);
    await evictDurableObject(hub, { webSockets: "close" });
    expect(await listener.ended).toBe(1006);
    expect(await hub.publish(event(2))).toBe(1);
    expect(await hub.reconnectWindowMs()).toBeGreaterThan(0);
    await listenAt(name);
    expect(await hub.publish(event(3, { check: 9 }))).toBe(1);
  });

  it("is counted as heard by one at least while a stream may come back that was lost, for which no withdrawal waits", async () => {
    const { name, hub } = freshHub();
    const listener = await listenAt(name);
    listener.close(1011);
    await expect.poll(() => runInDurableObject(hub, (_instance, ctx) => ctx.getWebSockets().length)).toBe(0);
    expect(await hub.publish(event(1))).toBe(1);
    expect(await hub.reconnectWindowMs()).toBe(0);
  });

  it("is not missed by a stream that comes back when nobody sends any more: it is refused, and its client begins anew", async () => {
    const { name, hub } = freshHub();
    expect(await hub.publish(event(1))).toBe(0);
    await expect(listenAt(name, { again: true })).rejects.toThrow("refused with 410");
    await listenAt(name);
    await listenAt(name, { again: true });
    expect(await hub.publish(event(2))).toBe(2);
  });

  it("reaches the newest stream of a session, though an older one comes back after an accident", async () => {
    const { name, hub } = freshHub();
    const newer = await listenAt(name, { session: "s", since: 2 });
    await expect(listenAt(name, { session: "s", since: 1, again: true })).rejects.toThrow("refused with 410");
    expect(await hub.publish(event(1))).toBe(1);
    expect(await newer.next()).toEqual(event(1));
    await listenAt(name, { session: "s", since: 1 });
    expect(await newer.ended).toBe(4000);
  });

  it("leaves one small value at the hub, and no alarm; nothing once it found that nobody listens", async () => {
    const { name, hub } = freshHub();
    const stored = () =>
      runInDurableObject(hub, async (_instance, { storage }) => [
        [...storage.kv.list()].length,
        await storage.getAlarm(),
      ]);
    const listener = await listenAt(name, { session: "s" });
    for (const version of [1, 2, 3]) await hub.publish(event(version));
    await hub.endSession("s");
    expect(await stored()).toEqual([1, null]);
    expect(await listener.ended).toBe(4002);
    expect(await hub.publish(event(4))).toBe(0);
    expect(await stored()).toEqual([0, null]);
  });

  it("is neither counted for a stream that is closing nor kept from the others by it", async () => {
    const { name, hub } = freshHub();
    const closing = await listenAt(name, { session: "closing" });
    const staying = await listenAt(name);
    // In one turn of the object: nobody has heard of the close yet.
    const counted = await runInDurableObject<HubObject, number>(hub, async (instance, ctx) => {
      for (const socket of ctx.getWebSockets()) {
        if ((socket.deserializeAttachment() as Listener).session === "closing") socket.close(1011);
      }
      await instance.resubscribe("closing");
      return instance.publish(event(1));
    });
    expect(counted).toBe(1);
    expect(await staying.next()).toEqual(event(1));
    expect(await closing.ended).toBe(1011);
  });

  it("is not counted for a stream whose holder left", async () => {
    const { name, hub } = freshHub();
    const leaving = await listenAt(name);
    expect(await hub.publish(event(1))).toBe(1);
    leaving.close();
    const open = () => runInDurableObject(hub, (_instance, ctx) => ctx.getWebSockets().length);
    await expect.poll(open).toBe(0);
    expect(await hub.publish(event(2))).toBe(0);
  });
});

describe("a session", () => {
  it("has one stream of its own, the newest; streams without a session stand beside each other", async () => {
    const { name, hub } = freshHub();
    const older = await listenAt(name, { session: "s" });
    const others = [await listenAt(name, { session: "t" }), await listenAt(name), await listenAt(name)];
    const newer = await listenAt(name, { session: "s" });
    expect(await older.ended).toBe(4000);
    expect(await hub.publish(event(1))).toBe(4);
    for (const listener of [newer, ...others]) expect(await listener.next()).toEqual(event(1));
  });

  it("is told alone that its subscriptions are others", async () => {
    const { name, hub } = freshHub();
    const [mine, other] = [await listenAt(name, { session: "s" }), await listenAt(name, { session: "t" })];
    await hub.resubscribe("s");
    await hub.publish(event(1));
    expect([await mine.next(), await mine.next()]).toEqual([{ resubscribe: true }, event(1)]);
    expect(await other.next()).toEqual(event(1));
  });

  it("ends its stream, and nobody else's", async () => {
    const { name, hub } = freshHub();
    const [mine, other] = [await listenAt(name, { session: "s" }), await listenAt(name)];
    await hub.endSession("s");
    expect(await mine.ended).toBe(4002);
    expect(await hub.publish(event(1))).toBe(1);
    expect(await other.next()).toEqual(event(1));
  });
});

describe("a withdrawal", () => {
  const listeners = (name: string) =>
    Promise.all(
      [
        { principal: "ann" },
        { principal: "ann", profile: "p" },
        { principal: "bob", profile: "p" },
        { principal: "bob" },
      ].map((about) => listenAt(name, about)),
    );

  it.each<[string, ChangeEvent["close"], number[]]>([
    ["a principal", { principal: "ann" }, [0, 1]],
    ["a profile", { profile: "p" }, [1, 2]],
    ["a principal in a profile", { principal: "ann", profile: "p" }, [1]],
    ["everybody", {}, [0, 1, 2, 3]],
    ["nobody", { principal: "eve" }, []],
  ])("of %s ends those streams, which hear nothing of it, and no other", async (_whose, close, ends) => {
    const { name, hub } = freshHub();
    const all = await listeners(name);
    const change = event(1, { close });
    expect(await hub.publish(change)).toBe(4 - ends.length);
    for (const [at, listener] of all.entries()) {
      if (!ends.includes(at)) expect(await listener.next()).toEqual(change);
      else {
        expect(await listener.ended).toBe(4001);
        await expect(listener.next()).rejects.toThrow("ended");
      }
    }
  });
});

it("a hub refuses a stream more than there may be", async () => {
  const { hub } = freshHub();
  await runInDurableObject(hub, (_instance, ctx) => {
    vi.spyOn(ctx, "getWebSockets").mockReturnValue(Array.from({ length: MAX_STREAMS }, () => ({}) as WebSocket));
  });
  expect(await openSocket(hub, { listener: JSON.stringify(LISTENER) })).toEqual({ refused: 503 });
});
