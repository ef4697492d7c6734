// A connection to an upstream over its transport. A session of era 2025 is opened and closed here; era 2026 needs none.
// Never retries a request.

import {
  requestResult2025,
  requestResult2026,
  type SendOptions,
  type ResultMessage,
  type UnsentRequest,
} from "../mcp-client/request-result.ts";
import type { Channel2025, OpenedSession2025 } from "../mcp-client/channel-2025.ts";
import { handshake } from "../mcp-client/channel-2025.ts";
import { connect, indicatesHttpSse, type ConnectOptions } from "../mcp-client/connect.ts";
import { McpFault } from "../mcp-client/fault.ts";
import { pause, type Clock } from "../mcp-client/clock.ts";
import { openHttpSse } from "../mcp-client/http-sse.ts";
import { resultOf } from "../mcp-client/message.ts";
import { buildRequest2025, type ClientIdentity } from "../mcp-client/prepared-request.ts";
import type { RemoteEndpoint, RequestOptions } from "../mcp-client/remote-endpoint.ts";
import { open2025, streamable2025 } from "../mcp-client/streamable-2025.ts";
import { LATEST_2025, VERSION_2026, type Era } from "../protocol/revisions.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { META, type LogLevel } from "../protocol/meta.ts";
import type { LinkTransport } from "./upstream-catalog.ts";

export interface UpstreamLink {
  readonly transport: LinkTransport;
  readonly revision: string;
  /** As the upstream declared them. Empty if they were not requested. */
  readonly capabilities: JsonObject;
  readonly instructions?: string | undefined;
  /** The server's name and version, if requested. */
  readonly server?: unknown;
  /** Throws an `McpFault`. */
  request(request: UnsentRequest, options?: SendOptions): Promise<ResultMessage>;
  /** Ends the session, if there is one. Never rejects. */
  close(): Promise<void>;
}

export interface LinkConfig {
  readonly endpoint: RemoteEndpoint;
  readonly client: ClientIdentity;
  /** undefined if the transport is not known yet and must be detected. */
  readonly transport: LinkTransport | undefined;
}

const END_TIMEOUT_MS = 2000;

/** For calls: sends only the requests that the transport needs. */
export async function openLink(config: LinkConfig, options: RequestOptions = {}): Promise<UpstreamLink> {
  const nextId = createIdCounter();
  switch (config.transport) {
    case "2026":
      return openLink2026(config);
    case "2025": {
      const opened = await open2025(config.endpoint, toInitializeParams(config.client), nextId(), options);
      return createLink2025(config, nextId, opened);
    }
    case "http-sse": {
      const connection = await openHttpSse(config.endpoint, options);
      try {
        const opened = await handshake(() => connection, toInitializeParams(config.client), nextId(), options);
        return createChannelLink(connection, { config, nextId, opened, transport: "http-sse" }, async () =>
          connection.close(),
        );
      } catch (error) {
        connection.close();
        throw error;
      }
    }
    case undefined:
      return detectLink(config, { ...options, nextId: nextId });
  }
}

/** For reading lists, in the given era. Without an era the transport is detected. */
export async function openCatalogLink(
  config: Omit<LinkConfig, "transport">,
  era: Era | undefined,
  options: RequestOptions = {},
): Promise<UpstreamLink> {
  if (era === "2026") return discoverLink({ ...config, transport: "2026" }, options);
  if (era === undefined) return openLink({ ...config, transport: undefined }, options);
  try {
    return await openLink({ ...config, transport: "2025" }, options);
  } catch (error) {
    if (!(error instanceof McpFault) || !indicatesHttpSse(error.fault)) throw error;
    return openLink({ ...config, transport: "http-sse" }, options);
  }
}

/** Detects the transport, newest first, and reads what the server says about itself. */
async function detectLink(config: LinkConfig, options: ConnectOptions): Promise<UpstreamLink> {
  const connected = await connect(config.endpoint, config.client, options);
  const { nextId } = options;
  switch (connected.transport) {
    case "2026":
      return createLink2026(config, nextId as () => number, resultOf(connected.discovered) ?? {});
    case "2025":
      return createLink2025(config, nextId as () => number, connected);
    case "http-sse": {
      const { connection } = connected;
      const parts = { config, nextId: nextId as () => number, opened: connected, transport: "http-sse" } as const;
      return createChannelLink(connection, parts, async () => connection.close());
    }
  }
}

async function discoverLink(config: LinkConfig, options: RequestOptions = {}): Promise<UpstreamLink> {
  const nextId = createIdCounter();
  const request = { method: "server/discover", params: {} };
  const discovered = await requestResult2026(
    { endpoint: config.endpoint, client: config.client, nextId: nextId },
    request,
    options,
  );
  return createLink2026(config, nextId, resultOf(discovered) ?? {});
}

/** For calls: sends nothing before the first call. */
export function openLink2026(config: LinkConfig): UpstreamLink {
  return createLink2026(config, createIdCounter(randomStart()), {});
}

function createLink2026({ endpoint, client }: LinkConfig, nextId: () => number, discovered: JsonObject): UpstreamLink {
  const { capabilities, instructions, _meta } = discovered;
  return {
    transport: "2026",
    revision: VERSION_2026,
    capabilities: isObject(capabilities) ? capabilities : {},
    instructions: typeof instructions === "string" ? instructions : undefined,
    server: isObject(_meta) ? _meta[META.serverInfo] : undefined,
    request: (linkRequest, options) => requestResult2026({ endpoint, client, nextId }, linkRequest, options),
    close: async () => {},
  };
}

/**
 * How long a call waits for the answer to `logging/setLevel`. The answer may come later: a call matters more than its
 * log messages.
 */
export const LEVEL_WAIT_MS = 1000;
const LEVEL_TIMEOUT_MS = 5000;

interface LogLevelOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly waitUntil: (work: Promise<unknown>) => void;
}

/** Sets the log level of an era 2025 session. Never rejects: a server that refuses is used anyway. */
export async function requestLogLevel(link: UpstreamLink, level: LogLevel, options: LogLevelOptions): Promise<void> {
  const { clock, signal, waitUntil } = options;
  const waiting = new AbortController();
  const limits = { totalMs: LEVEL_TIMEOUT_MS };
  const response = link.request({ method: "logging/setLevel", params: { level } }, { signal, limits }).then(
    () => waiting.abort(),
    () => waiting.abort(),
  );
  waitUntil(response);
  await pause(clock, LEVEL_WAIT_MS, waiting.signal);
}

/** For a session that is already open. `nextId` counts the ids of all requests in it. */
export function createLink2025(config: LinkConfig, nextId: () => number, opened: PartialOpening): UpstreamLink {
  const channel = streamable2025(config.endpoint, opened.session);
  return createChannelLink(channel, { config, nextId, opened, transport: "2025" }, async () => {
    if (opened.session.id !== undefined) await channel.end?.({ limits: { totalMs: END_TIMEOUT_MS } });
  });
}

/** `response` is absent if another isolate opened the session. */
type PartialOpening = Pick<OpenedSession2025, "session"> & Partial<OpenedSession2025>;

interface LinkParts {
  readonly config: LinkConfig;
  readonly nextId: () => number;
  readonly opened: PartialOpening;
  readonly transport: LinkTransport;
}

function createChannelLink(
  channel: Channel2025,
  { config, nextId, opened, transport }: LinkParts,
  endSession: () => Promise<void>,
): UpstreamLink {
  const { session, response } = opened;
  const { instructions, serverInfo } = (response && resultOf(response)) ?? {};
  return {
    transport,
    revision: session.revision,
    capabilities: session.capabilities,
    instructions: typeof instructions === "string" ? instructions : undefined,
    server: serverInfo,
    request: async ({ method, params, rawArguments, wantsProgress }, options) => {
      const id = nextId();
      const sent = wantsProgress ? { ...params, _meta: { ...metaOf(params), progressToken: id } } : params;
      return requestResult2025(
        { channel, clock: config.endpoint.clock },
        buildRequest2025({ id, method, params: sent, rawArguments }),
        options,
      );
    },
    // Best effort: if the server is gone, its session expires there.
    close: async () => endSession().catch(() => undefined),
  };
}

function metaOf({ _meta }: JsonObject): JsonObject {
  return isObject(_meta) ? _meta : {};
}

export function toInitializeParams({ capabilities, clientInfo }: ClientIdentity): JsonObject {
  return { protocolVersion: LATEST_2025.version, capabilities, clientInfo };
}

export function createIdCounter(start = 0): () => number {
  let last = start;
  return () => (last += 1);
}

/**
 * Each era 2026 call has its own link, and an answer must use another id than the call that asked. The start is random:
 * one counter for all would reveal to an upstream how much others call.
 */
function randomStart(): number {
  return Math.floor(Math.random() * 2 ** 31);
}

/** Client metadata that era 2026 sends with each request. A session of era 2025 sent it when it opened. */
const META_KEYS_2026: ReadonlySet<string> = new Set(Object.values(META));

export function withoutOwnMeta(params: JsonObject): JsonObject {
  const { _meta, ...rest } = params;
  if (!isObject(_meta)) return params;
  const entries = Object.entries(_meta).filter(([key]) => !META_KEYS_2026.has(key) && key !== "progressToken");
  return entries.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(entries) };
}
