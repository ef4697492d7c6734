// A tenant's hubs as its authority reaches them in tests: the real ones, behind ways that can be cut and held up, and
// the sockets of those who listen.

import { exports } from "cloudflare:workers";
import { openSocket } from "../../../src/streams/reconnecting-web-socket.ts";
import type { HubMessage, Listener } from "../../../src/streams/socket-messages.ts";
import { hubName, type ChangeEvent } from "../../../src/tenants/object/changes.ts";
import { listening } from "./sockets.ts";

export const LISTENER: Listener = { session: null, profile: null, principal: "anonymous" };

/** An event that says nothing but what it is told to. */
export const changeEvent = (about: Partial<ChangeEvent>): ChangeEvent => ({
  log: about.policy === true ? "definitions" : "content",
  version: 0,
  after: 0,
  updated: [],
  listed: [],
  announced: [],
  policy: false,
  due: false,
  check: null,
  close: null,
  ...about,
});

export function listenAt(tenant: string, about: Partial<Listener> = {}, shard = 0) {
  const hub = exports.HubObject.getByName(hubName(tenant, shard));
  return listening<HubMessage>(openSocket(hub, { listener: JSON.stringify({ ...LISTENER, ...about }) }));
}

export interface Ways {
  /** What stands where the hubs are bound. */
  readonly env: object;
  /** Hubs that cannot be reached, by name. */
  readonly cut: Set<string>;
  /** What was sent, to whichever hub, whether it arrived or not. */
  readonly sent: { readonly hub: string; readonly event: ChangeEvent }[];
  /** Holds up what is sent from now on, until what this returns is called. */
  hold(): () => void;
}

export function waysToHubs(shards = 1): Ways {
  const cut = new Set<string>();
  const sent: { hub: string; event: ChangeEvent }[] = [];
  let held: Promise<void> = Promise.resolve();
  const publish = async (hub: string, event: ChangeEvent) => {
    sent.push({ hub, event });
    await held;
    if (cut.has(hub)) throw new Error("Network connection lost.");
    return exports.HubObject.getByName(hub).publish(event);
  };
  const getByName = (hub: string) => ({ publish: (event: ChangeEvent) => publish(hub, event) });
  return {
    env: { HubObject: { getByName }, HUB_SHARDS: String(shards) },
    cut,
    sent,
    hold: () => {
      let release = () => {};
      held = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
  };
}
