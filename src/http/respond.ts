// Owns the one place where MCP answers become HTTP responses.

import type { Answer } from "../protocol/dispatch.ts";
import { encodeFailure } from "../protocol/dispatch.ts";
import type { Era } from "../protocol/era.ts";
import type { Failure } from "../protocol/errors.ts";
import type { EchoId } from "../protocol/jsonrpc.ts";
import { soon } from "../protocol/soon.ts";
import { encodeEvent, SSE_HEADERS } from "./event-stream.ts";
import type { RequestSink } from "./call-sink.ts";

/** Silence after which a JSON answer becomes a stream, so that both sides can see the connection is alive. */
const STREAM_AFTER_MS = 2000;
const QUICK_TURNS = 40;

const JSON_HEADERS = { "content-type": "application/json" };
const JSON_INIT = { status: 200, headers: JSON_HEADERS };
export function respondAnswer({ json, status, retryAfter }: Answer): Response {
  if (status === 200 && retryAfter === undefined) return new Response(json, JSON_INIT);
  const headers = retryAfter === undefined ? JSON_HEADERS : { ...JSON_HEADERS, "retry-after": String(retryAfter) };
  return new Response(json, { status, headers });
}

export function respondFailure(era: Era, id: EchoId, failure: Failure): Response {
  return respondAnswer(encodeFailure(id, failure, era));
}

export function respondAccepted(): Response {
  return new Response(null, { status: 202 });
}

/** For a client that accepts streams alone: the same answer as the one event of a stream. */
export async function respondAsStream(response: Response): Promise<Response> {
  if (response.status !== 200 || response.headers.get("content-type") !== JSON_HEADERS["content-type"]) return response;
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  for (const [name, value] of Object.entries(SSE_HEADERS)) headers.set(name, value);
  return new Response(encodeEvent(await response.text()), { headers });
}

/** JSON when the answer is there soon and nothing was to be said before it; else a stream that ends with the answer. */
export async function respondWhenReady(
  running: Promise<Answer>,
  sink: RequestSink,
  waitUntil: (work: Promise<unknown>) => void,
  slow?: (settled: Promise<unknown>) => void,
): Promise<Response> {
  let answer: Answer | undefined;
  const settled = running.then((done) => (answer = done));
  await soon(() => answer !== undefined || sink.stream !== undefined, QUICK_TURNS);
  if (answer === undefined) slow?.(settled);
  if (answer === undefined && !sink.stream) {
    if (!sink.canStream) return respondAnswer(await settled);
    await streamOrAnswer(settled, sink);
  }
  if (!sink.stream) {
    const done = await settled;
    sink.shut();
    return respondAnswer(done);
  }
  waitUntil(settled.then((done) => sink.finish(done.json)));
  return sink.stream.respond();
}

async function streamOrAnswer(settled: Promise<unknown>, sink: RequestSink): Promise<void> {
  const timer = setTimeout(() => {
    sink.start();
  }, STREAM_AFTER_MS);
  await Promise.race([settled, sink.whenStarted()]);
  clearTimeout(timer);
}
