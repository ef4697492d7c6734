// Owns one conversation with an upstream, in the way that it speaks: a session of era 2025 is begun and ended here, era
// 2026 needs none. Refuses to send a request twice.

import { ask2025, ask2026, type Asking, type ResultMessage } from "../mcp-client/ask.ts";
import type { Channel2025, Opened2025 } from "../mcp-client/channel-2025.ts";
import { handshake } from "../mcp-client/channel-2025.ts";
import { connect, speaksHttpSse, type ConnectOptions } from "../mcp-client/connect.ts";
import { McpFault } from "../mcp-client/fault.ts";
import { pause, type Clock } from "../mcp-client/clock.ts";
import { openHttpSse } from "../mcp-client/http-sse.ts";
import { resultOf } from "../mcp-client/message.ts";
import { request2025, type ClientAbout } from "../mcp-client/outgoing.ts";
import type { RemoteEndpoint, RequestOptions } from "../mcp-client/remote-endpoint.ts";
import { open2025, streamable2025 } from "../mcp-client/streamable-2025.ts";
import { LATEST_2025, REVISION_2026, type Era } from "../protocol/era.ts";
import type { ParamHeader } from "../protocol/headers.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { META, type LogLevel } from "../protocol/meta.ts";
import type { Way } from "./upstream-catalog.ts";

export interface LinkAsk {
  readonly method: string;
  readonly params: JsonObject;
  /** The JSON of `params.arguments` as the client wrote it. */
  readonly exact?: string | undefined;
  readonly mirrored?: readonly ParamHeader[];
  /** Progress is wanted: notifications of it carry a token of this link's own. */
  readonly progress?: boolean;
}

export interface UpstreamLink {
  readonly way: Way;
  readonly revision: string;
  /** As the upstream declared them; empty where nobody asked. */
  readonly capabilities: JsonObject;
  readonly instructions?: string | undefined;
  /** What the server calls itself, where somebody asked. */
  readonly server?: unknown;
  /** Throws an `McpFault`. */
  ask(asked: LinkAsk, asking?: Asking): Promise<ResultMessage>;
  /** Ends the session, where there is one. Never rejects. */
  close(): Promise<void>;
}

export interface LinkHow {
  readonly endpoint: RemoteEndpoint;
  readonly about: ClientAbout;
  /** undefined: nobody knows yet, so it is found out. */
  readonly way: Way | undefined;
}

/** How long a server is waited for that is told that its session is over. */
const GOODBYE_MS = 2000;

/** For calls: asks the server nothing that the way does not need. */
export async function openLink(how: LinkHow, options: RequestOptions = {}): Promise<UpstreamLink> {
  const ids = counting();
  switch (how.way) {
    case "2026":
      return beginLink2026(how);
    case "2025": {
      const opened = await open2025(how.endpoint, helloOf(how.about), ids(), options);
      return link2025(how, ids, opened);
    }
    case "http-sse": {
      const connection = await openHttpSse(how.endpoint, options);
      try {
        const opened = await handshake(() => connection, helloOf(how.about), ids(), options);
        return linkOver(connection, { how, ids, opened, way: "http-sse" }, async () => connection.close());
      } catch (error) {
        connection.close();
        throw error;
      }
    }
    case undefined:
      return findLink(how, { ...options, nextId: ids });
  }
}

/** To read what the server lists, in its era; undefined: whichever it speaks. */
export async function surveyLink(
  how: Omit<LinkHow, "way">,
  era: Era | undefined,
  options: RequestOptions = {},
): Promise<UpstreamLink> {
  if (era === "2026") return discoverLink({ ...how, way: "2026" }, options);
  if (era === undefined) return openLink({ ...how, way: undefined }, options);
  try {
    return await openLink({ ...how, way: "2025" }, options);
  } catch (error) {
    if (!(error instanceof McpFault) || !speaksHttpSse(error.fault)) throw error;
    return openLink({ ...how, way: "http-sse" }, options);
  }
}

/** Finds out how the server speaks, newest way first, and what it says about itself. */
async function findLink(how: LinkHow, options: ConnectOptions): Promise<UpstreamLink> {
  const connected = await connect(how.endpoint, how.about, options);
  const { nextId } = options;
  switch (connected.way) {
    case "2026":
      return link2026(how, nextId as () => number, resultOf(connected.discovered) ?? {});
    case "2025":
      return link2025(how, nextId as () => number, connected);
    case "http-sse": {
      const { connection } = connected;
      const over = { how, ids: nextId as () => number, opened: connected, way: "http-sse" } as const;
      return linkOver(connection, over, async () => connection.close());
    }
  }
}

async function discoverLink(how: LinkHow, options: RequestOptions = {}): Promise<UpstreamLink> {
  const ids = counting();
  const asked = { method: "server/discover", params: {} };
  const discovered = await ask2026({ endpoint: how.endpoint, about: how.about, nextId: ids }, asked, options);
  return link2026(how, ids, resultOf(discovered) ?? {});
}

/** For calls: nothing is asked before the first of them. */
export function beginLink2026(how: LinkHow): UpstreamLink {
  return link2026(how, counting(anywhere()), {});
}

function link2026({ endpoint, about }: LinkHow, nextId: () => number, discovered: JsonObject): UpstreamLink {
  const { capabilities, instructions, _meta } = discovered;
  return {
    way: "2026",
    revision: REVISION_2026,
    capabilities: isObject(capabilities) ? capabilities : {},
    instructions: typeof instructions === "string" ? instructions : undefined,
    server: isObject(_meta) ? _meta[META.serverInfo] : undefined,
    ask: (asked, asking) => ask2026({ endpoint, about, nextId }, asked, asking),
    close: async () => {},
  };
}

/** A call matters more than its log messages: so long it waits for the answer, which may come later. */
export const LEVEL_WITHIN_MS = 1000;
const LEVEL_ANSWERED_WITHIN_MS = 5000;

interface LevelHow {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly later: (work: Promise<unknown>) => void;
}

/** Has a session of era 2025 send its log messages from `level` on. Never rejects: a server that refuses is not used any less. */
export async function askForLogs(link: UpstreamLink, level: LogLevel, how: LevelHow): Promise<void> {
  const { clock, signal, later } = how;
  const waiting = new AbortController();
  const limits = { totalMs: LEVEL_ANSWERED_WITHIN_MS };
  const asked = link.ask({ method: "logging/setLevel", params: { level } }, { signal, limits }).then(
    () => waiting.abort(),
    () => waiting.abort(),
  );
  later(asked);
  await pause(clock, LEVEL_WITHIN_MS, waiting.signal);
}

/** In a session that has begun. `ids`: those of all requests in it. */
export function link2025(how: LinkHow, ids: () => number, opened: Begun): UpstreamLink {
  const channel = streamable2025(how.endpoint, opened.session);
  return linkOver(channel, { how, ids, opened, way: "2025" }, async () => {
    if (opened.session.id !== undefined) await channel.end?.({ limits: { totalMs: GOODBYE_MS } });
  });
}

/** `answer`: absent where another isolate has heard it. */
type Begun = Pick<Opened2025, "session"> & Partial<Opened2025>;

interface Over {
  readonly how: LinkHow;
  readonly ids: () => number;
  readonly opened: Begun;
  readonly way: Way;
}

function linkOver(channel: Channel2025, { how, ids, opened, way }: Over, end: () => Promise<void>): UpstreamLink {
  const { session, answer } = opened;
  const { instructions, serverInfo } = (answer && resultOf(answer)) ?? {};
  return {
    way,
    revision: session.revision,
    capabilities: session.capabilities,
    instructions: typeof instructions === "string" ? instructions : undefined,
    server: serverInfo,
    ask: async ({ method, params, exact, progress }, asking) => {
      const id = ids();
      const sent = progress ? { ...params, _meta: { ...metaOf(params), progressToken: id } } : params;
      return ask2025({ channel, clock: how.endpoint.clock }, request2025({ id, method, params: sent, exact }), asking);
    },
    // A goodbye to a server that may be gone: its session ends there by itself.
    close: async () => end().catch(() => undefined),
  };
}

function metaOf({ _meta }: JsonObject): JsonObject {
  return isObject(_meta) ? _meta : {};
}

export function helloOf({ capabilities, clientInfo }: ClientAbout): JsonObject {
  return { protocolVersion: LATEST_2025.revision, capabilities, clientInfo };
}

export function counting(from = 0): () => number {
  let last = from;
  return () => (last += 1);
}

/**
 * Each call of era 2026 has a link of its own, and the answer to a question must come under another id than the question's
 * call had. Not one count for all: it would tell an upstream how much others ask.
 */
function anywhere(): number {
  return Math.floor(Math.random() * 2 ** 31);
}

/** What era 2026 says of its client in each request; a session of era 2025 has said it when it began. */
const OF_2026: ReadonlySet<string> = new Set(Object.values(META));

export function withoutOwnMeta(params: JsonObject): JsonObject {
  const { _meta, ...rest } = params;
  if (!isObject(_meta)) return params;
  const kept = Object.entries(_meta).filter(([key]) => !OF_2026.has(key) && key !== "progressToken");
  return kept.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(kept) };
}
