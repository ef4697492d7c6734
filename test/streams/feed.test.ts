// A notification stream on a real hub and a real authority: what its view may hear, each once, nothing lost, and nothing
// before whoever listens was admitted again.

import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { Feed, type Digests, type FeedState, type Filter, type StreamSight } from "../../src/streams/feed.ts";
import { openSocket } from "../../src/streams/held-socket.ts";
import type { Listener } from "../../src/streams/wire.ts";
import { remoteChanges } from "../../src/tenants/authority/change-tables.ts";
import type { ChangeEvent } from "../../src/tenants/authority/changes.ts";
import { policyTables } from "../../src/tenants/authority/policy-tables.ts";
import { remote } from "../../src/tenants/authority/tables.ts";
import { changeEvent as event, LISTENER } from "../support/worker/hubs.ts";
import { freshTenant, type FreshTenant, MADE_BEFORE } from "../support/worker/tenant.ts";

const DIGESTS: Digests = { tools: "t1", prompts: "p1", resources: "r1" };
const sightOf = (digests: Partial<Digests> = {}, hidden: readonly string[] = []): StreamSight => ({
  digests: { ...DIGESTS, ...digests },
  sees: (uri) => !hidden.includes(uri),
});
const filterOf = (...uris: readonly string[]): Filter => ({
  tools: true,
  prompts: true,
  resources: true,
  uris: new Map(uris.map((uri) => [uri, uri.toUpperCase()])),
});
const NEVER = { definitions: 0, content: 0 };
const LIST = (section: keyof Digests) => `${section}/list_changed`;

/** A stream with everything about it that a test may change while it is open. */
function streaming(about: { filter?: Filter; listener?: Partial<Listener>; deaf?: boolean } = {}) {
  const tenant = freshTenant();
  const definitions = remoteChanges(tenant.stub);
  const changes = remoteChanges(tenant.content);
  // A deaf hub hears nothing from the authority: only what the test tells it.
  const hub = env.HUBS.getByName(about.deaf ? `${tenant.id}-deaf` : tenant.id);
  const told: string[] = [];
  const looks: number[] = [];
  const states: FeedState[] = [];
  let wake = () => {};
  const tell = (what: string) => {
    told.push(what);
    wake();
  };
  const world = {
    sight: sightOf() as StreamSight | null,
    filter: about.filter ?? filterOf("note:a", "note:b"),
    /** What a look at the view waits for. */
    gate: Promise.resolve(),
    /** Called when somebody looks. */
    looked: () => {},
    away: false,
    /** Called when the authority could not be reached. */
    failed: () => {},
  };
  const heard: number[] = [];
  const listens: (number | null)[] = [];
  const reach = <T>(work: () => Promise<T>) => {
    if (!world.away) return work();
    world.failed();
    return Promise.reject(new Error("away"));
  };
  const feed = new Feed({
    connect: async () => {
      const opened = await openSocket(hub, { listener: JSON.stringify({ ...LISTENER, ...about.listener }) });
      if ("socket" in opened) {
        opened.socket.addEventListener("message", ({ data }) => {
          heard.push((JSON.parse(data as string) as ChangeEvent).version);
          wake();
        });
      }
      return opened;
    },
    listen: (since) => {
      listens.push(since?.content ?? null);
      return reach(async () => ({
        definitions: await definitions.listen(since?.definitions ?? null),
        content: await changes.listen(since?.content ?? null),
      }));
    },
    look: (revision) =>
      reach(async () => {
        looks.push(revision);
        world.looked();
        await world.gate;
        return world.sight;
      }),
    filter: async () => world.filter,
    tell: (method, { uri }, state) => {
      states.push(state);
      tell(`${method.replace("notifications/", "")}${typeof uri === "string" ? ` ${uri}` : ""}`);
    },
    ended: (why) => {
      tell(why);
    },
  });
  const until = async (isSo: () => boolean) => {
    while (!isSo()) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const next = async () => {
    await until(() => told.length > 0);
    return told.shift();
  };
  /** The hub's event about this version is there, whatever the stream makes of it. */
  const hears = (version: number) => until(() => heard.includes(version));
  /** Holds up the next look, until what this resolves to is called. */
  const holdLook = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const looking = new Promise<void>((begun) => {
      world.gate = promise;
      world.looked = begun;
    });
    return { looking, release: resolve };
  };
  const update = (...names: string[]) =>
    changes.announce(
      [],
      names.map((name) => `note:${name}`),
    );
  /** The last thing that a stream hears in a test: whatever came before it was told or never will be. */
  const END = "resources/updated NOTE:B";
  const untilEnd = async () => {
    await update("b");
    const seen: unknown[] = [];
    do seen.push(await next());
    while (seen.at(-1) !== END);
    return seen.slice(0, -1);
  };
  return { tenant, changes, hub, feed, world, looks, listens, states, next, holdLook, hears, update, untilEnd, told };
}

/** A tool is forbidden, which is in force a minute later. */
async function suspendLater({ stub }: FreshTenant): Promise<void> {
  const policy = remote(stub, policyTables);
  const actor = { name: "ann" };
  await policy.create({ created: MADE_BEFORE, own: {}, effective: {}, actor, action: "create" });
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
    const { feed, hub, world, update, untilEnd } = streaming();
    world.sight = sightOf({}, ["note:a"]);
    await feed.start(undefined);
    await update("a");
    await hub.publish(event({ listed: ["note:a"] }));
    expect(await untilEnd()).toEqual([]);
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
    const { looking, release } = holdLook();
    await update("a");
    await looking;
    for (const name of ["c", "a", "c", "a"]) await update(name);
    await hears(5);
    release();
    expect(await next()).toBe("resources/updated NOTE:A");
    expect(await untilEnd()).toEqual(["resources/updated NOTE:C", "resources/updated NOTE:A"]);
  });

  it("hears what changed between its beginning to listen and its first look", async () => {
    const { feed, update, next, holdLook, changes } = streaming();
    const { looking, release } = holdLook();
    const starting = feed.start(undefined);
    await looking;
    await changes.listen(null);
    await update("a");
    await changes.flush();
    release();
    await starting;
    expect(await next()).toBe("resources/updated NOTE:A");
  });

  it("reads its subscriptions anew when its session says so", async () => {
    const { feed, hub, world, update, next } = streaming({ listener: { session: "s" } });
    await feed.start(undefined);
    world.filter = filterOf("note:new");
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
    const { feed, hub, update, changes, told } = streaming();
    await feed.start(undefined);
    feed.close();
    await expect.poll(() => hub.publish(event({}))).toBe(0);
    await update("a");
    await changes.flush();
    expect(told).toEqual([]);
  });
});

describe("a change of policy", () => {
  it("is told when it is in force and the view's list is another, not when it is only written", async () => {
    const { feed, hub, world, looks, next, untilEnd } = streaming();
    await feed.start(undefined);
    world.sight = sightOf({ tools: "t2" });
    await hub.publish(event({ check: 7 }));
    expect(await untilEnd()).toEqual([]);
    expect(looks).toContain(7);
    await hub.publish(event({ policy: true }));
    expect(await next()).toBe(LIST("tools"));
    await hub.publish(event({ policy: true }));
    expect(await untilEnd()).toEqual([]);
  });

  it("that was not in force yet when the stream began is told whatever is seen by then", async () => {
    const { tenant, feed, hub, world, next } = streaming({
      filter: { ...filterOf(), prompts: false, resources: false },
    });
    await suspendLater(tenant);
    world.sight = sightOf({ tools: "after it" });
    await feed.start(undefined);
    await hub.publish(event({ policy: true }));
    expect(await next()).toBe(LIST("tools"));
  });

  it("is told again when the one that came after it is in force: what its client read meanwhile may be from before that", async () => {
    const { tenant, feed, world, next } = streaming({ filter: { ...filterOf(), prompts: false, resources: false } });
    const policy = remote(tenant.stub, policyTables);
    const actor = { name: "ann" };
    const lease = { version: null, inCode: false, keyHash: null };
    await policy.create({ created: MADE_BEFORE, own: {}, effective: {}, actor, action: "create" });
    await feed.start(undefined);
    for (const maxStalenessMs of [50, 600]) {
      await policy.lease({ ...lease, maxStalenessMs });
      await policy.suspend({ kind: "tool", name: `tool ${maxStalenessMs}`, note: "n" }, actor);
    }
    // An isolate that asks by now knows both, one that asked in between does not.
    world.sight = sightOf({ tools: "without both" });
    expect([await next(), await next()]).toEqual([LIST("tools"), LIST("tools")]);
  });

  it("that forbids whoever listens ends the stream before anything is told", async () => {
    const { feed, hub, world, next, told } = streaming();
    await feed.start(undefined);
    world.sight = null;
    await hub.publish(event({ check: 2, updated: ["note:a"] }));
    expect(await next()).toBe("withdrawn");
    await expect.poll(() => hub.publish(event({ updated: ["note:b"] }))).toBe(0);
    expect(told).toEqual([]);
  });
});

describe("what a stream missed", () => {
  it("is told when an event shows that there was one before it, and asked about only then", async () => {
    const { feed, hub, update, next, listens } = streaming({ deaf: true });
    await feed.start(undefined);
    await update("a");
    await update("unsubscribed");
    await hub.publish(event({ version: 3, after: 2, updated: ["note:b"] }));
    expect([await next(), await next()]).toEqual(["resources/updated NOTE:B", "resources/updated NOTE:A"]);
    await hub.publish(event({ version: 4, after: 3, updated: ["note:b"] }));
    expect(await next()).toBe("resources/updated NOTE:B");
    expect(listens).toEqual([null, 0]);
  });

  it("while its socket was lost is told when it is back", async () => {
    const { feed, hub, update, changes, next, looks } = streaming();
    await feed.start(undefined);
    await update("b");
    expect(await next()).toBe("resources/updated NOTE:B");
    await evictDurableObject(hub, { webSockets: "close" });
    await update("a");
    await changes.flush();
    expect(await next()).toBe("resources/updated NOTE:A");
    expect(looks).toContain(Number.POSITIVE_INFINITY);
  });

  it("while the authority was away is told when that is back", async () => {
    const { feed, update, next, world, told } = streaming();
    await feed.start(undefined);
    const failed = new Promise<void>((resolve) => {
      world.failed = resolve;
    });
    world.away = true;
    await update("a");
    await failed;
    expect(told).toEqual([]);
    world.away = false;
    expect(await next()).toBe("resources/updated NOTE:A");
  });

  it("since an earlier stream ended is told at the beginning, once, with lists that a deployment changed", async () => {
    const { feed, update, untilEnd, world } = streaming();
    await update("a");
    await update("unsubscribed");
    world.sight = sightOf({ prompts: "p2" });
    expect(await feed.start({ versions: NEVER, digests: DIGESTS })).toMatchObject({
      versions: { content: 2 },
      digests: DIGESTS,
    });
    expect(await untilEnd()).toEqual([LIST("prompts"), "resources/updated NOTE:A"]);
  });

  it("leaves out a list that differs when a change of policy is not in force yet: that is told at its time", async () => {
    const { feed, hub, world, tenant, next, untilEnd } = streaming();
    await suspendLater(tenant);
    world.sight = sightOf({ tools: "t2" });
    await feed.start({ versions: NEVER, digests: DIGESTS });
    expect(await untilEnd()).toEqual([]);
    await hub.publish(event({ policy: true }));
    expect(await next()).toBe(LIST("tools"));
  });

  it("for so long that nobody knows any more may be anything", async () => {
    const { feed, next, world } = streaming({ filter: filterOf("note:a") });
    world.sight = sightOf({ prompts: "p2" });
    await feed.start({ versions: { definitions: 0, content: 99 }, digests: DIGESTS });
    expect([await next(), await next(), await next()]).toEqual([
      LIST("prompts"),
      LIST("resources"),
      "resources/updated NOTE:A",
    ]);
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

describe("the end of a stream", () => {
  it("is a newer one of its session", async () => {
    const { feed, hub, next } = streaming({ listener: { session: "s" } });
    await feed.start(undefined);
    const newer = await openSocket(hub, { listener: JSON.stringify({ ...LISTENER, session: "s" }) });
    expect([await next(), Object.keys(newer)]).toEqual(["replaced", ["socket"]]);
  });

  it("is the end of its session", async () => {
    const { feed, hub, next } = streaming({ listener: { session: "s" } });
    await feed.start(undefined);
    await hub.endSession("s");
    expect(await next()).toBe("lost");
  });

  it("is the withdrawal of whoever listens", async () => {
    const { feed, hub, next } = streaming();
    await feed.start(undefined);
    await hub.publish(event({ close: { principal: LISTENER.principal } }));
    expect(await next()).toBe("withdrawn");
  });
});

describe("a stream does not begin", () => {
  it("for whom nobody admits, and leaves no socket behind", async () => {
    const { feed, hub, world } = streaming();
    world.sight = null;
    expect(await feed.start(undefined)).toBe(403);
    await expect.poll(() => hub.publish(event({}))).toBe(0);
  });

  it("while the authority is away, and leaves no socket behind", async () => {
    const { feed, hub, world } = streaming();
    world.away = true;
    await expect(feed.start(undefined)).rejects.toThrow("away");
    await expect.poll(() => hub.publish(event({}))).toBe(0);
  });
});
