// A notification stream on a real hub and a real authority, with everything about it that a test may change while it is
// open, hold up and read.

import type { ListenFilter } from "../../src/protocol/methods/subscriptions.ts";
import { exports } from "cloudflare:workers";
import { SYSTEM_CLOCK } from "../../src/mcp-client/clock.ts";
import {
  ChangeFeed,
  type Digests,
  type FeedHost,
  type FeedState,
  type StreamAccess,
} from "../../src/streams/change-feed.ts";
import { openSocket } from "../../src/streams/reconnecting-web-socket.ts";
import type { Listener } from "../../src/streams/socket-messages.ts";
import { createChangeClient } from "../../src/tenants/object/change-rpc.ts";
import type { ChangeEvent } from "../../src/tenants/object/changes.ts";
import { LISTENER } from "../support/workerd/hubs.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

export const DIGESTS: Digests = { tools: "t1", prompts: "p1", resources: "r1" };
export const accessOf = (digests: Partial<Digests> = {}, hidden: readonly string[] = []): StreamAccess => ({
  digests: { ...DIGESTS, ...digests },
  leaseMs: 5000,
  canSee: (uri) => !hidden.includes(uri),
});
export const filterOf = (...uris: readonly string[]): ListenFilter => ({
  tools: true,
  prompts: true,
  resources: true,
  uris: new Map(uris.map((uri) => [uri, uri.toUpperCase()])),
});
export const NEVER = { definitions: 0, content: 0 };
export const LIST = (section: keyof Digests) => `${section}/list_changed`;

/** A stream with everything about it that a test may change while it is open. */
export function streaming(about: { filter?: ListenFilter; listener?: Partial<Listener>; deaf?: boolean } = {}) {
  const tenant = freshTenant();
  const definitions = createChangeClient(tenant.stub);
  const changes = createChangeClient(tenant.content);
  // A deaf hub hears nothing from the authority: only what the test tells it.
  const hub = exports.HubObject.getByName(about.deaf ? `${tenant.id}-deaf` : tenant.id);
  const notifications: string[] = [];
  const looks: number[] = [];
  const states: FeedState[] = [];
  let wake = () => {};
  const tell = (what: string) => {
    notifications.push(what);
    wake();
  };
  const state = {
    access: accessOf() as StreamAccess | null,
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
    if (!state.away) return work();
    state.failed();
    return Promise.reject(new Error("away"));
  };
  const host: FeedHost = {
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
      return reach(async () => {
        return {
          definitions: await definitions.listen(since?.definitions ?? null),
          content: await changes.listen(since?.content ?? null),
        };
      });
    },
    getAccess: (revision) =>
      reach(async () => {
        looks.push(revision);
        state.looked();
        await state.gate;
        return state.access;
      }),
    filter: async () => state.filter,
    notify: (method, { uri }, notified) => {
      states.push(notified);
      tell(`${method.replace("notifications/", "")}${typeof uri === "string" ? ` ${uri}` : ""}`);
    },
    onEnd: (why) => {
      tell(why);
    },
  };
  // Whoever loses the hub comes back at once.
  const feed = new ChangeFeed(host, { ...SYSTEM_CLOCK, random: () => 0 });
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await new Promise<void>((resolve) => (wake = resolve));
  };
  const next = async () => {
    await until(() => notifications.length > 0);
    return notifications.shift();
  };
  /** The hub's event about this version is there, whatever the stream makes of it. */
  const hears = (version: number) => until(() => heard.includes(version));
  /** Holds up what comes next, until `release` is called; `begun`: it has come. */
  const held = (hold: (gate: Promise<void>, come: () => void) => void) => {
    const gate = Promise.withResolvers<void>();
    const begun = new Promise<void>((come) => {
      hold(gate.promise, come);
    });
    return { begun, release: gate.resolve };
  };
  const holdLook = () =>
    held((gate, come) => {
      state.gate = gate;
      state.looked = come;
    });
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
  const ways = { next, holdLook, hears, update, untilEnd };
  return { tenant, changes, hub, feed, state, looks, listens, states, notifications, ...ways };
}
