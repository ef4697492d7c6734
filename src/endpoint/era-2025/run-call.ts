// Runs one request of era 2025: answered at once, on its own stream, or as a stored call that outlives the connection.
// A call is stored if its tool is resumable, or from its first question to the client.

import type { McpRequest } from "../../protocol/mcp-request.ts";
import type { Resumable, ToolDefinition } from "../../protocol/definition.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import type { CallRunner } from "../../sessions/call-runner.ts";
import { CallViewer } from "../../sessions/call-viewer.ts";
import type { SessionCaller } from "../../sessions/session-caller.ts";
import { openSessionSocket } from "../../sessions/session-stub.ts";
import type { Session } from "../../sessions/session-id.ts";
import { createRunner, storeCall, connectWhenSlow, type SessionCall } from "../../sessions/store-call.ts";
import { handleRequest } from "../handle-request.ts";
import type { CallOutput } from "../call-output.ts";
import { authorizeWithRetry } from "../authorize-request.ts";
import type { AuthorizedRequest } from "../authorized-request.ts";
import { EventStream, SSE_HEADERS } from "../event-stream.ts";
import { createRequestOutput, RequestStream } from "../request-stream.ts";
import { respondWhenReady } from "../respond.ts";

const KEEPALIVE_MS = 20_000;
/** For a GET that resumes a call: the tool's own settings are not looked up there. */
export const DEFAULT_RESUMABLE: Resumable = { closeAfterMs: 25_000, retryMs: 1000 };

/** The tool that a call requests; undefined if there is none, or if it may not be called. */
export function requestedTool(
  { handlers }: AuthorizedRequest,
  { method, params }: McpRequest,
): ToolDefinition | undefined {
  const tool = method === "tools/call" && typeof params.name === "string" ? handlers.tool(params.name) : undefined;
  return tool && !isFailure(tool) ? tool.definition : undefined;
}

/** Whether a call that waited for its client may continue with the rights that it started with. */
export async function isStillAuthorized(authorized: AuthorizedRequest, call: McpRequest): Promise<boolean> {
  const reauthorized = await authorizeWithRetry(authorized.context);
  if (isFailure(reauthorized)) return false;
  // A definition from the author's function has no version, so its document is compared.
  if (
    reauthorized.cachedPolicy.version === authorized.cachedPolicy.version &&
    reauthorized.document === authorized.document
  )
    return true;
  // No other run can take over a call that must not run twice: it continues here, as long as it would be authorized
  // again.
  const tool = requestedTool(reauthorized, call);
  return tool !== undefined && !tool.repeatable;
}

export async function runCall(
  authorized: AuthorizedRequest,
  call: McpRequest,
  { session, acceptsStream }: { readonly session: Session | null; readonly acceptsStream: boolean },
): Promise<Response> {
  if (!session)
    return answerOnStream(authorized, call, new RequestStream(authorized.context.request, "2025", acceptsStream));
  const tool = requestedTool(authorized, call);
  const sessionCall: SessionCall = { call, session, repeatable: tool?.repeatable ?? true };
  const replayed =
    acceptsStream && tool?.resumable ? await storeAndReplay(authorized, sessionCall, tool.resumable) : undefined;
  if (replayed) return replayed;
  const stream = new RequestStream(authorized.context.request, "2025", acceptsStream);
  return answerOnStream(authorized, call, stream, sessionCall);
}

/**
 * Stores a call before it runs, and streams its log. Returns undefined if the session has no room for another stored
 * call.
 */
async function storeAndReplay(
  authorized: AuthorizedRequest,
  sessionCall: SessionCall,
  resumable: Resumable,
): Promise<Response | undefined> {
  const key = await storeCall(authorized, sessionCall);
  if (key === undefined) return undefined;
  const replayed = await replayCallEvents(authorized, sessionCall.session, { key, after: 0, resumable });
  // The call was cancelled before it was stored, so its log is complete and empty. Without this response, the call
  // would run after all.
  return typeof replayed === "number" ? new Response(": over\n\n", { headers: SSE_HEADERS }) : replayed;
}

/** `sessionCall`: lets the call ask its client questions, and be cancelled from any connection. */
function answerOnStream(
  authorized: AuthorizedRequest,
  call: McpRequest,
  stream: RequestStream,
  sessionCall?: SessionCall,
): Promise<Response> {
  const sink = createRequestOutput(stream, "2025");
  const runner = sessionCall && createStreamRunner(authorized, sessionCall, { sink, stream });
  const requesterOption = runner && stream.isAccepted ? { clientRequester: runner } : {};
  const response = handleRequest(authorized, { ...call, sink, ...requesterOption });
  if (runner) connectWhenSlow(runner, response, authorized);
  return respondWhenReady(response, { sink, stream, waitUntil: (work) => authorized.waitUntil(work) });
}

/**
 * Creates a runner for a call that is answered on its own stream. From its first question on, that stream shows the
 * call's log.
 */
function createStreamRunner(
  authorized: AuthorizedRequest,
  sessionCall: SessionCall,
  { sink, stream }: { readonly sink: CallOutput; readonly stream: RequestStream },
): CallRunner {
  const runner = createRunner(authorized, sessionCall, {
    notificationCount: () => sink.notificationCount,
    onStored: (key) => {
      stream.start();
      sink.divert(runner);
      const { events } = stream;
      if (!events) return;
      stream.whenDisconnected(() => {
        viewer.close();
        runner.onClientGone();
      });
      const viewer = createViewer(authorized, { session: sessionCall.session, key, stream: events });
      viewer.start(0).catch((error: unknown) => {
        authorized.onError(error);
        events.end();
      });
    },
    hasSameRights: () => isStillAuthorized(authorized, sessionCall.call),
    onCancelled: () => {
      sink.cancel();
    },
  });
  return runner;
}

/**
 * Streams a stored call's log after event `after`. A number: rejected with that HTTP status. If the revision primes
 * streams, the stream closes after `closeAfterMs`, and the client reconnects for the rest.
 */
export async function replayCallEvents(
  caller: AuthorizedRequest,
  session: Session,
  { key, after, resumable }: { readonly key: string; readonly after: number; readonly resumable: Resumable },
): Promise<Response | number> {
  const { closeAfterMs, retryMs } = resumable;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const suspendStream = () => {
    viewer.close();
    clearTimeout(timer ?? null);
    stream.write(`retry: ${retryMs}\n\n`);
  };
  const stream: EventStream = new EventStream({
    keepaliveMs: KEEPALIVE_MS,
    hasMaxAge: true,
    clientAddress: caller.context.clientAddress,
    onDisconnect: () => {
      viewer.close();
      clearTimeout(timer ?? null);
    },
    onMaxAge: suspendStream,
  });
  if (session.revision.sendsPrimingEvent) {
    stream.writePriming(`${key}-${after}`, retryMs);
    timer = setTimeout(() => {
      suspendStream();
      stream.end();
    }, closeAfterMs);
  }
  const viewer = createViewer(caller, {
    session,
    key,
    stream,
    done: () => {
      clearTimeout(timer ?? null);
    },
  });
  let refused: number | undefined;
  try {
    refused = await viewer.start(after);
  } catch (error) {
    // The call runs on without a viewer. Its client resumes from the primed event id.
    caller.onError(error);
    suspendStream();
    stream.end();
    if (session.revision.sendsPrimingEvent) return stream.respond();
    throw error;
  }
  if (refused === undefined) return stream.respond();
  clearTimeout(timer ?? null);
  stream.end();
  return refused;
}

interface ViewerOptions {
  readonly session: Session;
  readonly key: string;
  readonly stream: EventStream;
  readonly done?: () => void;
}

function createViewer({ sessionStubs }: SessionCaller, { session, key, stream, done }: ViewerOptions): CallViewer {
  return new CallViewer({
    connect: (after) => openSessionSocket(sessionStubs.sessionObject(session), { as: "viewer", call: key }, after),
    onEvent: (seq, json) => {
      stream.writeEvent(json, `${key}-${seq}`);
    },
    onEnd: () => {
      done?.();
      stream.end();
    },
  });
}
