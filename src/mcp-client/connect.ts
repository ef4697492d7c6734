// Detects a server's transport, newest first: 2026-07-28, then a session over Streamable HTTP, then HTTP+SSE. The
// result holds for one connection: a server that is down or refuses the credential may look like an older one.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#backward-compatibility

import { LATEST_2025, VERSION_2026, findRevision2025 } from "../protocol/revisions.ts";
import { errorCode } from "../protocol/errors.ts";
import { isObject, type MessageId } from "../protocol/jsonrpc.ts";
import { requestResult2026, type ResultMessage } from "./request-result.ts";
import { confirm2025, handshake, initialize2025, type OpenedSession2025 } from "./channel-2025.ts";
import { limitsOf, type RemoteEndpoint, type RequestOptions } from "./remote-endpoint.ts";
import { httpStatusOf, McpFault, type Fault } from "./fault.ts";
import { openHttpSse, type HttpSseConnection } from "./http-sse.ts";
import { resultOf, rpcErrorOf, type RpcError } from "./message.ts";
import type { ClientIdentity } from "./prepared-request.ts";
import { end2025, streamable2025 } from "./streamable-2025.ts";

export type Connected =
  | { readonly transport: "2026"; readonly discovered: ResultMessage }
  | ({ readonly transport: "2025" } & OpenedSession2025)
  /** The caller must close the connection. */
  | ({ readonly transport: "http-sse"; readonly connection: HttpSseConnection } & OpenedSession2025);

export interface ConnectOptions extends RequestOptions {
  readonly nextId: () => MessageId;
}

export async function connect(
  endpoint: RemoteEndpoint,
  client: ClientIdentity,
  options: ConnectOptions,
): Promise<Connected> {
  const older = async () => connectOlder(endpoint, client, options);
  let discovered: ResultMessage | undefined;
  try {
    discovered = await discover(endpoint, client, options);
  } catch (error) {
    const connected = await withOlderFallback(error, older);
    await endLeftoverSession(endpoint, error, connected);
    return connected;
  }
  return discovered ? { transport: "2026", discovered } : older();
}

/**
 * Connects to an older server if `error2026`, the fault of a 2026 request, may come from one. For a refused credential
 * or a server failure that is only a guess. If the guess was wrong, throws the more specific of the two errors.
 */
export async function withOlderFallback<T>(error2026: unknown, connectOlderServer: () => Promise<T>): Promise<T> {
  if (!(error2026 instanceof McpFault) || !indicatesOlderEra(error2026.fault)) throw error2026;
  try {
    return await connectOlderServer();
  } catch (error) {
    throw isAmbiguous(error2026.fault) && isLessSpecific(error, error2026) ? error2026 : error;
  }
}

const GOODBYE_MS = 2000;

/** Some servers start a session with the first request even if they refuse the request, and would keep that session. */
async function endLeftoverSession(endpoint: RemoteEndpoint, refusal: unknown, connected: Connected): Promise<void> {
  const id = refusal instanceof McpFault && "http" in refusal.fault ? refusal.fault.http.sessionId : undefined;
  if (id === undefined || (connected.transport === "2025" && connected.session.id === id)) return;
  const session = { id, revision: "", hello: {}, capabilities: {} };
  // Best effort: the server also expires the session by itself.
  await end2025(endpoint, session, { limits: { totalMs: GOODBYE_MS } }).catch(() => undefined);
}

async function connectOlder(
  endpoint: RemoteEndpoint,
  client: ClientIdentity,
  options: ConnectOptions,
): Promise<Connected> {
  const hello = {
    protocolVersion: LATEST_2025.version,
    capabilities: client.capabilities,
    clientInfo: client.clientInfo,
  };
  const id = options.nextId();
  // Only `initialize` identifies an older server. A server that has started a session is not HTTP+SSE, whatever it
  // answers afterwards.
  const begun = await undefinedIfOlder(indicatesHttpSse, async () =>
    initialize2025(streamable2025(endpoint, undefined), hello, id, options),
  );
  if (begun)
    return { transport: "2025", ...(await confirm2025(streamable2025(endpoint, begun.session), begun, options)) };
  const connection = await openHttpSse(endpoint, options);
  try {
    return { transport: "http-sse", connection, ...(await handshake(() => connection, hello, id, options)) };
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** The error says only that the server did not understand, or it lacks the challenge of the first answer. */
function isLessSpecific(error: unknown, { fault: first }: McpFault): boolean {
  if (!(error instanceof McpFault)) return false;
  const { fault } = error;
  if (challengeOf(first) !== undefined && challengeOf(fault) === undefined) return true;
  return indicatesOlderEra(fault) && !isAmbiguous(fault);
}

function challengeOf(fault: Fault): string | undefined {
  return "http" in fault ? fault.http.wwwAuthenticate : undefined;
}

/** Some servers never answer an unknown method. */
const PROBE_TIMEOUT_MS = 10_000;

async function discover(
  endpoint: RemoteEndpoint,
  client: ClientIdentity,
  { nextId, signal, ...options }: ConnectOptions,
): Promise<ResultMessage | undefined> {
  const request = { method: "server/discover", params: {} };
  const { totalMs } = limitsOf(endpoint, options);
  const limits = { ...options.limits, totalMs: Math.min(totalMs, PROBE_TIMEOUT_MS) };
  const send = () => requestResult2026({ endpoint, client, nextId }, request, { signal, limits });
  // A server may refuse the revision and still list it as supported, for example during a deployment. One retry.
  const discovered = await send().catch((error: unknown) => {
    if (error instanceof McpFault && namesRevision2026(error.fault)) return send();
    throw error;
  });
  const { supportedVersions, capabilities } = resultOf(discovered) ?? {};
  // Some servers return a result for any method.
  const isOf2026 = Array.isArray(supportedVersions) && supportedVersions.includes(VERSION_2026);
  return isOf2026 && isObject(capabilities) ? discovered : undefined;
}

/** Resolves to undefined if the fault shows an older server. */
async function undefinedIfOlder<T>(isOlder: (fault: Fault) => boolean, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof McpFault && isOlder(error.fault)) return undefined;
    throw error;
  }
}

const UNSUPPORTED_VERSION = errorCode("unsupportedVersion", "2026");
const CODES_ONLY_2026 = [errorCode("headerMismatch", "2026"), errorCode("missingCapability", "2026")];

/** How an older server reacts to a 2026 request, apart from HTTP errors. */
const NON_2026_FAULTS: ReadonlySet<Fault["kind"]> = new Set(["notMcp", "unanswered", "violation", "timeout"]);

/** Whether the fault of a 2026 request indicates an older server. Any HTTP error does. */
function indicatesOlderEra(fault: Fault): boolean {
  if (fault.kind === "refused") return isErrorOf2025(rpcErrorOf(fault.error));
  return fault.kind === "status" || NON_2026_FAULTS.has(fault.kind);
}

/** The same answer may come from a newer server that is down, or that refuses the credential. */
function isAmbiguous(fault: Fault): boolean {
  const status = httpStatusOf(fault) ?? 0;
  return status === 401 || status === 403 || status === 429 || status >= 500;
}

/** Servers of era 2025 have many errors for a request outside of a session. Those of era 2026 are few and known. */
function isErrorOf2025(error: RpcError | undefined): boolean {
  if (error === undefined) return false;
  if (error.code !== UNSUPPORTED_VERSION) return !CODES_ONLY_2026.includes(error.code);
  return supportedRevisionsOf(error).some((revision) => findRevision2025(revision) !== undefined);
}

function supportedRevisionsOf({ data }: RpcError): string[] {
  const supported = isObject(data) ? data.supported : undefined;
  return Array.isArray(supported) ? supported.map(String) : [];
}

function namesRevision2026(fault: Fault): boolean {
  const error = fault.kind === "refused" ? rpcErrorOf(fault.error) : undefined;
  return error?.code === UNSUPPORTED_VERSION && supportedRevisionsOf(error).includes(VERSION_2026);
}

/** https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility */
export function indicatesHttpSse(fault: Fault): boolean {
  return fault.kind === "status" && [400, 404, 405].includes(fault.http.status);
}
