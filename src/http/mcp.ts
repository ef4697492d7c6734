// Owns the MCP endpoint: one POST from its headers to its answer, in both eras. The numbered steps are its whole way.

import type { Call } from "../protocol/backend.ts";
import { classify, type InboundHeaders } from "../protocol/classify.ts";
import { DIALECT_2026, REVISION_2026, type Era } from "../protocol/era.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import type { JsonObject, RpcRequest } from "../protocol/jsonrpc.ts";
import { META, progressTokenOf, type LogLevel } from "../protocol/meta.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { readListen } from "../protocol/methods/subscriptions.ts";
import { isStale } from "../tenants/isolate/outage.ts";
import type { Snapshot } from "../tenants/isolate/snapshot.ts";
import { answer2025 } from "./era-2025/answers.ts";
import { isJsonType, parseAccept, type Accepted, parseJson, readBody } from "./body.ts";
import { answer, type Arrived, type Endpoint } from "./endpoint.ts";
import { answerPosted, postedTo } from "./era-2025/posted.ts";
import { answerListen } from "./notifications.ts";
import { failureOf } from "./on-error.ts";
import { respondAccepted, respondAsStream, respondFailure, respondWhenReady } from "./respond.ts";
import { RequestSink } from "./call-sink.ts";

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
  const posted = postedTo(endpoint.request, era);
  if (posted !== null)
    return answerPosted({ ...endpoint, held, admitted }, posted, { text: text as string, ...parsed });
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
  const arrived = { ...endpoint, held, admitted, served, inbound, streams: accepted.stream };
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

async function answer2026(arrived: Arrived, message: RpcRequest, params: JsonObject): Promise<Response> {
  if (message.method === "subscriptions/listen") return listen(arrived, message, params);
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

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions */
async function listen(arrived: Arrived, { id }: RpcRequest, params: JsonObject): Promise<Response> {
  const filter = readListen(params);
  const refused = isFailure(filter) ? filter : arrived.streams ? undefined : failure("notAcceptable");
  if (isFailure(filter) || refused) return respondFailure("2026", id, refused as Failure);
  try {
    const answered = await answerListen(arrived, arrived.admitted, { id, filter });
    return isFailure(answered) ? respondFailure("2026", id, answered) : answered;
  } catch (error) {
    arrived.onError(error);
    return respondFailure("2026", id, failureOf(error, arrived.request));
  }
}

/** The message's own era for answers that are given before it is classified. */
export function eraOf(request: Request): Era {
  return request.headers.get("mcp-protocol-version") === REVISION_2026 ? "2026" : "2025";
}
