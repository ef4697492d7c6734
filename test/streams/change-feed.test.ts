// A notification stream on a real hub and a real authority: what its view may hear, each once, nothing lost, and nothing
// before whoever listens was admitted again.

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { openSocket } from "../../src/streams/reconnecting-web-socket.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { changeEvent as event, LISTENER } from "../support/workerd/hubs.ts";
import { DIGESTS, filterOf, LIST, NEVER, accessOf, streaming } from "./streaming.ts";
import { type FreshTenant, NO_UID } from "../support/workerd/tenant.ts";

/** A tool is forbidden, which is in force a minute later. */
async function suspendLater({ stub }: FreshTenant): Promise<void> {
  const policy = createRpcClient(stub, policyStore);
  const actor = { name: "ann" };
  await policy.create({ created: NO_UID, own: {}, effective: {}, actor, action: "create" });
  await policy.lease({ version: null, maxStalenessMs: 60_000, inCode: false, keyHash: null });
  await policy.suspend({ kind: "tool", name: "add", note: "n" }, actor);
}

describe("a stream", () => {
  it("hears of what it subscribed to, as its client wrote it, and of nothing else", async () => {
    const { feed, update, next, untilEnd } = streaming();
    await feed.start(undefined);
    await update("a");
    expect(await next()).toBe("resources/updated NOTE:A");
    await update("unsubscribed");
    expect(await untilEnd()).toEqual([]);
  });

  it("hears nothing of what its view does not show", async () => {
    const { feed, hub, state, update, untilEnd } = streaming();
    state.access = accessOf({}, ["note:a"]);
    await feed.start(undefined);
    await update("a");
    await hub.publish(event({ listed: ["note:a"] }));
    expect(await untilEnd()).toEqual([]);
  });

  it("looks again where a hub of a later release tells what nobody here knows", async () => {
    const { feed, hub, looks, state } = streaming();
    await feed.start(undefined);
    const looked = new Promise<void>((resolve) => (state.looked = resolve));
    await hub.publish({ ...event({}), log: "weather" as "content" }).then(() => looked);
    expect(looks.at(-1)).toBe(Infinity);
    feed.close();
  });

  it("hears of the lists that it asked for", async () => {
    const { feed, hub, changes, untilEnd } = streaming({ filter: { ...filterOf("note:b"), prompts: false } });
    await feed.start(undefined);
    await changes.announce(["tools", "prompts"], []);
    await hub.publish(event({ listed: ["note:new"] }));
    expect(new Set(await untilEnd())).toEqual(new Set([LIST("resources"), LIST("tools")]));
  });

  it("hears a burst once, and the last of it too, though it came while another was being told", async () => {
    const { feed, update, next, hears, holdLook, untilEnd } = streaming({
      filter: filterOf("note:a", "note:b", "note:c"),
    });
    await feed.start(undefined);
    const { begun, release } = holdLook();
    await update("a");
    await begun;
    for (const name of ["c", "a", "c", "a"]) await update(name);
    await hears(5);
    release();
    expect(await next()).toBe("resources/updated NOTE:A");
    expect(await untilEnd()).toEqual(["resources/updated NOTE:C", "resources/updated NOTE:A"]);
  });

  it("hears what changed between its beginning to listen and its first look", async () => {
    const { feed, update, next, holdLook, changes } = streaming();
    const { begun, release } = holdLook();
    const starting = feed.start(undefined);
    await begun;
    await changes.listen(null);
    await update("a");
    await changes.flush();
    release();
    await starting;
    expect(await next()).toBe("resources/updated NOTE:A");
  });

  it("reads its subscriptions anew when its session says so", async () => {
    const { feed, hub, state, update, next } = streaming({ listener: { session: "s" } });
    await feed.start(undefined);
    state.filter = filterOf("note:new");
    await hub.resubscribe("s");
    await update("new");
    expect(await next()).toBe("resources/updated NOTE:NEW");
  });

  it("hears of an event once that its hub was sent again, because another hub was away", async () => {
    const { feed, hub, next, untilEnd } = streaming();
    await feed.start(undefined);
    const sent = event({ version: 3, updated: ["note:a"] });
    await hub.publish(sent);
    expect(await next()).toBe("resources/updated NOTE:A");
    await hub.publish(sent);
    expect(await untilEnd()).toEqual([]);
  });

  it("says nothing once it is closed, and its hub has no stream then", async () => {
    const { feed, hub, update, changes, notifications } = streaming();
    await feed.start(undefined);
    feed.close();
    await expect.poll(() => hub.publish(event({}))).toBe(0);
    await update("a");
    await changes.flush();
    expect(notifications).toEqual([]);
  });
});

describe("a change of policy", () => {
  it("is told when it is in force and the view's list is another, not when it is only written", async () => {
    const { feed, hub, state, looks, next, untilEnd } = streaming();
    await feed.start(undefined);
    state.access = accessOf({ tools: "t2" });
    await hub.publish(event({ check: 7 }));
    expect(await untilEnd()).toEqual([]);
    expect(looks).toContain(7);
    await hub.publish(event({ policy: true }));
    expect(await next()).toBe(LIST("tools"));
    await hub.publish(event({ policy: true }));
    expect(await untilEnd()).toEqual([]);
  });

  it("that was not in force yet when the stream began is told whatever is seen by then", async () => {
    const { tenant, feed, hub, state, next } = streaming({
      filter: { ...filterOf(), prompts: false, resources: false },
    });
    await suspendLater(tenant);
    state.access = accessOf({ tools: "after it" });
    await feed.start(undefined);
    await hub.publish(event({ policy: true }));
    expect(await next()).toBe(LIST("tools"));
  });

  it("is told again when the one that came after it is in force: what its client read meanwhile may be from before that", async () => {
    const { tenant, feed, state, next } = streaming({ filter: { ...filterOf(), prompts: false, resources: false } });
    const policy = createRpcClient(tenant.stub, policyStore);
    const actor = { name: "ann" };
    const lease = { version: null, inCode: false, keyHash: null };
    await policy.create({ created: NO_UID, own: {}, effective: {}, actor, action: "create" });
    await feed.start(undefined);
    for (const maxStalenessMs of [50, 600]) {
      await policy.lease({ ...lease, maxStalenessMs });
      await policy.suspend({ kind: "tool", name: `tool ${maxStalenessMs}`, note: "n" }, actor);
    }
    // An isolate that asks by now knows both, one that asked in between does not.
    state.access = accessOf({ tools: "without both" });
    expect([await next(), await next()]).toEqual([LIST("tools"), LIST("tools")]);
  });

  it("that forbids the listener ends the stream before anything is told", async () => {
    const { feed, hub, state, next, notifications } = streaming();
    await feed.start(undefined);
    state.access = null;
    await hub.publish(event({ check: 2, updated: ["note:a"] }));
    expect(await next()).toBe("withdrawn");
    await expect.poll(() => hub.publish(event({ updated: ["note:b"] }))).toBe(0);
    expect(notifications).toEqual([]);
  });
});

describe("what a stream missed", () => {
  /** What a client is told that has to list again, and to read again what it subscribed to. */
  const AGAIN = [
    LIST("tools"),
    LIST("prompts"),
    LIST("resources"),
    "resources/updated NOTE:A",
    "resources/updated NOTE:B",
  ];

  it("may be anything when an event shows that there was one before it: its client is told to list again", async () => {
    const { feed, hub, update, next, listens } = streaming({ deaf: true });
    await feed.start(undefined);
    await update("a");
    await update("unsubscribed");
    await hub.publish(event({ version: 3, after: 2, updated: ["note:b"] }));
    for (const text of AGAIN) expect(await next()).toBe(text);
    await hub.publish(event({ version: 4, after: 3, updated: ["note:b"] }));
    expect(await next()).toBe("resources/updated NOTE:B");
    expect(listens).toEqual([null]);
  });

  it("while its socket was lost may be anything: its client is told to list again, and the logs are not asked", async () => {
    const { feed, hub, update, next, listens, untilEnd } = streaming();
    await feed.start(undefined);
    await update("a");
    expect(await next()).toBe("resources/updated NOTE:A");
    await evictDurableObject(hub, { webSockets: "close" });
    for (const text of AGAIN) expect(await next()).toBe(text);
    expect(listens).toEqual([null]);
    await update("a");
    expect(await next()).toBe("resources/updated NOTE:A");
    expect(await untilEnd()).toEqual([]);
  });

  it("while it was told to list again is told once more", async () => {
    const { feed, hub, update, next, holdLook } = streaming();
    await feed.start(undefined);
    await update("a");
    expect(await next()).toBe("resources/updated NOTE:A");
    const { begun, release } = holdLook();
    await evictDurableObject(hub, { webSockets: "close" });
    await begun;
    await evictDurableObject(hub, { webSockets: "close" });
    await expect.poll(() => runInDurableObject(hub, (_instance, ctx) => ctx.getWebSockets().length)).toBe(1);
    release();
    for (const text of [...AGAIN, ...AGAIN]) expect(await next()).toBe(text);
  });

  it("of a change that is not in force yet is told again when it is", async () => {
    const { tenant, feed, hub, state, next } = streaming({
      filter: { ...filterOf(), prompts: false, resources: false },
    });
    await feed.start(undefined);
    await evictDurableObject(hub, { webSockets: "close" });
    state.access = accessOf({ tools: "after it" });
    expect(await next()).toBe(LIST("tools"));
    // What its client listed meanwhile may be from before it.
    await suspendLater(tenant);
    await hub.publish(event({ policy: true }));
    expect(await next()).toBe(LIST("tools"));
  });

  it("while the authority was away is told when that is back", async () => {
    const { feed, update, next, state, notifications } = streaming();
    await feed.start(undefined);
    const failed = new Promise<void>((resolve) => {
      state.failed = resolve;
    });
    state.away = true;
    await update("a");
    await failed;
    expect(notifications).toEqual([]);
    state.away = false;
    expect(await next()).toBe("resources/updated NOTE:A");
  });

  it("since an earlier stream ended is told at the beginning, once, with lists that a deployment changed", async () => {
    const { feed, update, untilEnd, state } = streaming();
    await update("a");
    await update("unsubscribed");
    state.access = accessOf({ prompts: "p2" });
    expect(await feed.start({ versions: NEVER, digests: DIGESTS })).toMatchObject({
      versions: { content: 2 },
      digests: DIGESTS,
    });
    expect(await untilEnd()).toEqual([LIST("prompts"), "resources/updated NOTE:A"]);
  });

  it("leaves out a list that differs when a change of policy is not in force yet: that is told at its time", async () => {
    const { feed, hub, state, tenant, next, untilEnd } = streaming();
    await suspendLater(tenant);
    state.access = accessOf({ tools: "t2" });
    await feed.start({ versions: NEVER, digests: DIGESTS });
    expect(await untilEnd()).toEqual([]);
    await hub.publish(event({ policy: true }));
    expect(await next()).toBe(LIST("tools"));
  });

  it("for so long that nobody knows any more may be anything", async () => {
    const { feed, next } = streaming({ filter: filterOf("note:a") });
    await feed.start({ versions: { definitions: 0, content: 99 }, digests: DIGESTS });
    for (const text of AGAIN.slice(0, -1)) expect(await next()).toBe(text);
  });

  it("is known from what was told last: a stream that goes on from there hears nothing twice", async () => {
    const first = streaming();
    await first.feed.start(undefined);
    await first.update("a");
    await first.next();
    const from = first.states.at(-1);
    await first.update("b");
    await first.next();
    expect(from).toEqual({ versions: { definitions: 0, content: 1 }, digests: DIGESTS });
    expect(await first.changes.listen(from?.versions.content ?? null)).toMatchObject({ updated: ["note:b"] });
  });
});

describe("what is told at once", () => {
  it("is known to have been told only with the last of it: a stream that was cut in between is told the rest", async () => {
    const { feed, hub, states, next } = streaming();
    await feed.start(undefined);
    await hub.publish(event({ version: 3, listed: ["note:a"], updated: ["note:a", "note:b"] }));
    expect([await next(), await next(), await next()]).toEqual([
      LIST("resources"),
      "resources/updated NOTE:A",
      "resources/updated NOTE:B",
    ]);
    expect(states.map(({ versions }) => versions.content)).toEqual([0, 0, 3]);
  });
});

describe("a stream ends", () => {
  it("when a newer one of its session begins", async () => {
    const { feed, hub, next } = streaming({ listener: { session: "s" } });
    await feed.start(undefined);
    const newer = await openSocket(hub, { listener: JSON.stringify({ ...LISTENER, session: "s" }) });
    expect([await next(), Object.keys(newer)]).toEqual(["replaced", ["socket"]]);
  });

  it("when its session ends", async () => {
    const { feed, hub, next } = streaming({ listener: { session: "s" } });
    await feed.start(undefined);
    await hub.endSession("s");
    expect(await next()).toBe("lost");
  });

  it("when its listener is withdrawn", async () => {
    const { feed, hub, next } = streaming();
    await feed.start(undefined);
    await hub.publish(event({ close: { principal: LISTENER.principal } }));
    expect(await next()).toBe("withdrawn");
  });
});

describe("a stream does not begin", () => {
  it("for a listener that is not admitted, and leaves no socket behind", async () => {
    const { feed, hub, state } = streaming();
    state.access = null;
    expect(await feed.start(undefined)).toBe(403);
    await expect.poll(() => hub.publish(event({}))).toBe(0);
  });

  it("while the authority is away, and leaves no socket behind", async () => {
    const { feed, hub, state } = streaming();
    state.away = true;
    await expect(feed.start(undefined)).rejects.toThrow("away");
    await expect.poll(() => hub.publish(event({}))).toBe(0);
  });
});
