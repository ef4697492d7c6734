// Owns the MCP endpoint: one POST from its headers to its answer, in both eras. The numbered steps are its whole way.

import type { Principal } from "../auth/principal.ts";
import type { Backend, Call, SessionPort } from "../protocol/backend.ts";
import { classify, type Classified, type InboundHeaders } from "../protocol/classify.ts";
import { dispatch, encodeAnswer, encodeFailure, type Answer } from "../protocol/dispatch.ts";
import { DEFAULT_DIALECT, dialect2025, DIALECT_2026, REVISION_2026, type Dialect, type Era } from "../protocol/era.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { type JsonObject, type RpcMessage, type RpcRequest } from "../protocol/jsonrpc.ts";
import { META, progressTokenOf, type LogLevel } from "../protocol/meta.ts";
import { initialize } from "../protocol/methods/lifecycle.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { isStale } from "../tenants/outage.ts";
import type { Snapshot } from "../tenants/snapshot.ts";
import type { Admitted } from "./admit.ts";
import { isJsonType, parseAccept, type Accepted, parseJson, readBody } from "./body.ts";
import { failureOf } from "./on-error.ts";
import { respondAccepted, respondAnswer, respondAsStream, respondFailure, respondWhenReady } from "./respond.ts";
import { mintSession, openSession, type Session, type SessionOwner } from "./session.ts";
import { NO_SINK, RequestSink } from "./sse.ts";

/** What the steps before this one found out, and the doors to what lies behind it. */
export interface Endpoint {
  readonly request: Request;
  readonly tenant: string;
  readonly profile: string | null;
  readonly maxBodyBytes: number;
  /** A failure: unknown, or not to be told apart from unknown. */
  snapshot(): Snapshot | Promise<Snapshot | Failure>;
  admit(snapshot: Snapshot): Admitted | Failure;
  backend(admitted: Admitted, snapshot: Snapshot): Backend;
  session(session: Session): SessionPort;
  waitUntil(work: Promise<unknown>): void;
  onError(error: unknown): void;
}

interface Arrived extends Endpoint {
  readonly held: Snapshot;
  readonly principal: Principal;
  readonly served: Backend;
  readonly inbound: InboundHeaders;
  readonly streams: boolean;
}

export async function handlePost(endpoint: Endpoint): Promise<Response> {
  const { headers } = endpoint.request;
  const version = headers.get("mcp-protocol-version");
  const era: Era = version === REVISION_2026 ? "2026" : "2025";
  // 1. What the headers alone refuse.
  const accepted = acceptable(headers);
  if (isFailure(accepted)) return respondFailure(era, undefined, accepted);
  // 2. The body, read once, while the tenant's authority is asked if the lease has ended.
  const asked = endpoint.snapshot();
  const [text, held] = await Promise.all([readBody(endpoint.request, endpoint.maxBodyBytes), settle(asked, endpoint)]);
  // 3. Who calls. Before this, nothing that was sent is answered.
  const admitted = isFailure(held) ? held : endpoint.admit(held);
  if (admitted.kind === "failure" || isFailure(held)) return respondRefused(era, admitted as Failure);
  const parsed = typeof text === "string" ? parseJson(text) : text;
  if (isFailure(parsed)) return respondFailure(era, undefined, parsed);
  // 4. Which era, which dialect, or why not.
  const inbound: InboundHeaders = {
    version,
    session: headers.get("mcp-session-id"),
    method: headers.get("mcp-method"),
    name: headers.get("mcp-name"),
  };
  const classified = classify(parsed.value, inbound);
  if (classified.kind === "rejected") return respondFailure(classified.era, classified.id, classified.failure);
  if (classified.kind === "ignored") return respondAccepted();
  // 5. The answer, in its era.
  const served = endpoint.backend(admitted, held);
  const arrived = { ...endpoint, held, principal: admitted.principal, served, inbound, streams: accepted.stream };
  const answered =
    classified.kind === "request2026"
      ? answer2026(arrived, classified.message, classified.params)
      : answer2025(arrived, classified);
  return inForm(await answered, accepted, held);
}

function inForm(answered: Response, accepted: Accepted, held: Snapshot): Response | Promise<Response> {
  if (isStale(held)) markStale(answered);
  return accepted.json ? answered : respondAsStream(answered);
}

/** RFC 9111, section 5.5, as far as it lives on: served from a copy while the authority is away. */
function markStale(response: Response): void {
  response.headers.set("warning", '110 - "Response is stale"');
}

/** RFC 6750, section 3: a refused credential is told which kind is wanted. */
export function respondRefused(era: Era, refused: Failure): Response {
  const response = respondFailure(era, undefined, refused);
  if (refused.error === "unauthorized") response.headers.set("www-authenticate", 'Bearer realm="tenantry"');
  return response;
}

function acceptable(headers: Headers): Accepted | Failure {
  if (!isJsonType(headers.get("content-type"))) return failure("unsupportedMediaType");
  const accepted = parseAccept(headers.get("accept"));
  return accepted.json || accepted.stream ? accepted : failure("notAcceptable");
}

async function settle(asked: Snapshot | Promise<Snapshot | Failure>, endpoint: Endpoint): Promise<Snapshot | Failure> {
  try {
    return await asked;
  } catch (error) {
    endpoint.onError(error);
    return {
      ...failure("unavailable", "Service unavailable: this tenant cannot be served right now"),
      retryAfter: 5,
    };
  }
}

function idOf(classified: Classified) {
  if (classified.kind === "request2026") return classified.message.id;
  return classified.kind === "message2025" && classified.message.kind === "request" ? classified.message.id : undefined;
}

function answer2026(arrived: Arrived, message: RpcRequest, params: JsonObject): Promise<Response> {
  const sink = new RequestSink(arrived.request, "2026", arrived.streams);
  const meta = params._meta as JsonObject;
  const call: Call = {
    dialect: DIALECT_2026,
    id: message.id,
    method: message.method,
    params,
    capabilities: meta[META.clientCapabilities] as JsonObject,
    progressToken: progressTokenOf(params),
    logLevel: meta[META.logLevel] as LogLevel | undefined,
    session: undefined,
    sink,
    header: (name) => arrived.request.headers.get(name),
    now: Date.now,
  };
  return respondWhenReady(answer(arrived, call), sink, (work) => {
    arrived.waitUntil(work);
  });
}

async function answer2025(
  arrived: Arrived,
  classified: Classified & { kind: "message2025" | "batch2025" },
): Promise<Response> {
  const { inbound, held, tenant, profile, principal } = arrived;
  const owner: SessionOwner = { tenant, profile, principal: principal.id, ring: held.ring };
  if (classified.kind === "message2025" && isInitialize(classified.message)) {
    return answerInitialize(arrived, classified.message, owner);
  }
  const session = inbound.session === null ? null : await openSession(owner, inbound.session);
  if (session === undefined) return respondFailure("2025", idOf(classified), failure("sessionNotFound"));
  if (classified.kind === "batch2025") return answerBatch(arrived, classified.messages, session);
  const { message } = classified;
  if (message.kind !== "request") return respondAccepted();
  const sink = new RequestSink(arrived.request, "2025", arrived.streams);
  const call = call2025(arrived, message, session?.dialect ?? classified.dialect, session);
  return respondWhenReady(answer(arrived, { ...call, sink }), sink, (work) => {
    arrived.waitUntil(work);
  });
}

function isInitialize(message: RpcMessage): message is RpcRequest {
  return message.kind === "request" && message.method === "initialize";
}

function call2025(arrived: Arrived, message: RpcRequest, dialect: Dialect, session: Session | null): Call {
  return {
    dialect,
    id: message.id,
    method: message.method,
    params: message.params ?? {},
    capabilities: session?.capabilities ?? {},
    progressToken: progressTokenOf(message.params),
    logLevel: undefined,
    session: session === null ? undefined : arrived.session(session),
    sink: NO_SINK,
    header: () => null,
    now: Date.now,
  };
}

async function answerInitialize(arrived: Arrived, message: RpcRequest, owner: SessionOwner): Promise<Response> {
  const initialized = initialize(message.params ?? {}, arrived.served);
  if (initialized.kind === "failure") return respondFailure("2025", message.id, initialized);
  const { negotiated, capabilities, result } = initialized;
  const { json } = encodeAnswer(message.id, { kind: "complete", result }, negotiated.dialect, arrived.served.server);
  const response = respondAnswer({ json, status: 200 });
  // Without the authority's keys nothing can be sealed: the client goes on without a session.
  if (owner.ring.length > 0) {
    response.headers.set("mcp-session-id", await mintSession(owner, negotiated, capabilities));
  }
  return response;
}

/** https://modelcontextprotocol.io/specification/2025-03-26/basic#batching */
async function answerBatch(
  arrived: Arrived,
  messages: readonly RpcMessage[],
  session: Session | null,
): Promise<Response> {
  const { version } = arrived.inbound;
  const dialect = session?.dialect ?? (version === null ? DEFAULT_DIALECT : dialect2025(version));
  if (!dialect) return respondFailure("2025", undefined, failure("invalidEnvelope", "Bad MCP-Protocol-Version header"));
  if (!dialect.batches) {
    const why = `Invalid Request: revision ${dialect.revision} has no batches`;
    return respondFailure("2025", undefined, failure("invalidRequest", why));
  }
  const answers = await Promise.all(
    messages.map(async (message) => {
      if (message.kind === "invalid") {
        return encodeFailure(message.id, failure("invalidRequest", `Invalid Request: ${message.why}`), "2025");
      }
      return message.kind === "request" ? answer(arrived, call2025(arrived, message, dialect, session)) : undefined;
    }),
  );
  const bodies = answers.filter((done) => done !== undefined).map((done) => done.json);
  return bodies.length === 0 ? respondAccepted() : respondAnswer({ json: `[${bodies.join(",")}]`, status: 200 });
}

/** Where exceptions end: an answer that says no more than the error table does. */
async function answer(arrived: Arrived, call: Call): Promise<Answer> {
  const { served } = arrived;
  try {
    const outcome = dispatch(call, served);
    return encodeAnswer(call.id, outcome instanceof Promise ? await outcome : outcome, call.dialect, served.server);
  } catch (error) {
    arrived.onError(error);
    return encodeFailure(call.id, failureOf(error, arrived.request), call.dialect.era);
  }
}

/** The message's own era for answers that are given before it is classified. */
export function eraOf(request: Request): Era {
  return request.headers.get("mcp-protocol-version") === REVISION_2026 ? "2026" : "2025";
}
