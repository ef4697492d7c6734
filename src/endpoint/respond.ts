// Makes HTTP responses of MCP responses. Headers that every response of an endpoint needs are set in finish-response.ts.

import { encodeFailure, type EncodedResponse } from "../protocol/dispatch.ts";
import { eraOfVersion, type Era } from "../protocol/revisions.ts";
import type { ErrorKey, Failure, ExceededLimit } from "../protocol/errors.ts";
import type { EchoId } from "../protocol/jsonrpc.ts";
import { encodeEvent, SSE_HEADERS, MAX_PAUSE_MS, stopTimer, type Timer } from "./event-stream.ts";
import type { CallOutput } from "./call-output.ts";
import type { RequestStream } from "./request-stream.ts";
import { MEMORY_BUDGET, SMALL_BYTES } from "../tenants/cache/memory-budget.ts";
import { DeadlineWatcher, type WaitUntilContext } from "../streams/deadline-watcher.ts";

/**
 * Responses are for one caller and one moment, so they must not be cached. Shared objects, because every response uses
 * one.
 */
export const NO_STORE = { "cache-control": "no-store" };
const JSON_HEADERS = { "content-type": "application/json", ...NO_STORE };
const JSON_INIT = { status: 200, headers: JSON_HEADERS };
const ACCEPTED_INIT = { status: 202, headers: NO_STORE };
const NOTHING_INIT = { status: 204, headers: NO_STORE };
/** RFC 6750, section 3: a rejection names the kind of credential that is required. */
export const BEARER_CHALLENGE = 'Bearer realm="tenantry"';

export function eraOf(request: Request): Era {
  return eraOfVersion(request.headers.get("mcp-protocol-version"));
}

const errorKeys = new WeakMap<Response, ErrorKey>();

/** The error for which a response has an HTTP error status. */
export function errorKeyOf(response: Response): ErrorKey | undefined {
  return errorKeys.get(response);
}

/** `page`: the HTML version of the rejection. */
export function copyErrorKey(rejection: Response, page: Response): Response {
  const error = errorKeys.get(rejection);
  if (error) errorKeys.set(page, error);
  return page;
}

export function respondAnswer({
  json,
  status,
  error,
  retryAfter,
  exceeded,
  challenge,
  clientAddress,
}: EncodedResponse): Response {
  if (status === 200 && retryAfter === undefined) return new Response(createBody(json, clientAddress), JSON_INIT);
  const headers = {
    ...JSON_HEADERS,
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
    ...((challenge ?? status === 401) && { "www-authenticate": challenge ?? BEARER_CHALLENGE }),
    ...(exceeded && limitHeaders(exceeded, retryAfter)),
  };
  const response = new Response(createBody(json, clientAddress), { status, headers });
  if (error) errorKeys.set(response, error);
  return response;
}

/** https://www.ietf.org/archive/id/draft-ietf-httpapi-ratelimit-headers-10.html */
function limitHeaders({ name, most, seconds }: ExceededLimit, retryAfter: number | undefined): Record<string, string> {
  const window = seconds === undefined ? "" : `;w=${seconds}`;
  const reset = retryAfter === undefined ? "" : `;t=${retryAfter}`;
  return { "ratelimit-policy": `"${name}";q=${most}${window}`, ratelimit: `"${name}";r=0${reset}` };
}

export function respondFailure(era: Era, id: EchoId, failure: Failure): Response {
  return respondAnswer(encodeFailure(id, failure, era));
}

export function respondAccepted(): Response {
  return new Response(null, ACCEPTED_INIT);
}

export function respondNothing(): Response {
  return new Response(null, NOTHING_INIT);
}

/** For a client that accepts only streams: the same response as the one event of a stream. */
export async function respondAsStream(response: Response): Promise<Response> {
  if (response.status !== 200 || response.headers.get("content-type") !== JSON_HEADERS["content-type"]) return response;
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  for (const [name, value] of Object.entries(SSE_HEADERS)) headers.set(name, value);
  return new Response(encodeEvent(await response.text()), { headers });
}

export interface RespondOptions {
  readonly sink: CallOutput;
  readonly stream: RequestStream;
  waitUntil(work: Promise<unknown>): void;
}

/**
 * Responds with JSON if the response is ready soon and no notification precedes it, else with a stream that ends with
 * the response.
 */
export async function respondWhenReady(
  pending: Promise<EncodedResponse>,
  responding: RespondOptions,
): Promise<Response> {
  const { sink, stream } = responding;
  if (stream.isAccepted) {
    const stop = runIfSlow(responding, Date.now(), () => stream.start());
    await Promise.race([pending, stream.whenStarted()]);
    stop();
  }
  if (!stream.events) {
    const done = await pending;
    stream.close();
    return respondAnswer(done);
  }
  responding.waitUntil(pending.then((done) => sink.finish(done.json)));
  return stream.events.respond();
}

const encoder = new TextEncoder();

/**
 * Sends a large response as fast as its client reads it, and counts its bytes in the memory budget until then; a client
 * that reads nothing is disconnected. A short response is sent directly: connection buffers are not counted.
 */
function createBody(json: string, clientAddress?: string): string | ReadableStream<Uint8Array> {
  if (json.length <= SMALL_BYTES) return json;
  const bytes = encoder.encode(json);
  const reservation = MEMORY_BUDGET.createReservation(clientAddress);
  reservation.resize(bytes.byteLength, true);
  let at = 0;
  let timer: Timer;
  const finish = () => {
    stopTimer(timer);
    reservation.release();
  };
  const watch = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    stopTimer(timer);
    timer = setTimeout(() => {
      finish();
      controller.error(new Error("the reader does not read"));
    }, MAX_PAUSE_MS);
  };
  return new ReadableStream<Uint8Array>(
    {
      start: watch,
      pull: (controller) => {
        controller.enqueue(bytes.subarray(at, at + SMALL_BYTES));
        at += SMALL_BYTES;
        reservation.resize(Math.max(0, bytes.byteLength - at), true);
        watch(controller);
        if (at < bytes.byteLength) return;
        finish();
        controller.close();
      },
      cancel: finish,
    },
    { highWaterMark: 0 },
  );
}

const SLOW_AFTER_MS = 2000;

/** Separate from other deadlines, because all waiters here wait equally long. Bound: the requests in progress. */
const SLOW_RESPONSES = new DeadlineWatcher();

/**
 * Runs `run` once, in the caller's own invocation, if the work is still in progress after `SLOW_AFTER_MS`; work that
 * ends sooner costs no timer. May run up to a second late. The work must wait for I/O or a timer of its own, because
 * the platform ends an invocation that waits for nothing. Returns a function that cancels.
 */
function runIfSlow(invocation: WaitUntilContext, now: number, run: () => void): () => void {
  let isOver = false;
  let giveUp = () => {};
  const slow = new Promise<void>((resolve) => {
    giveUp = resolve;
  });
  void slow.then(() => {
    if (!isOver) run();
  });
  const waiter = { due: now + SLOW_AFTER_MS, onTimeout: giveUp };
  SLOW_RESPONSES.add(waiter, now, invocation);
  return () => {
    isOver = true;
    SLOW_RESPONSES.remove(waiter);
  };
}
