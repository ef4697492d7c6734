// Owns one request of era 2025 on its way: answered at once, on its own stream, or as a stored call that outlives the
// connection: when its tool is resumable, and from the first question that it puts to its client.

import type { Call } from "../../protocol/call.ts";
import type { Resumable, ToolDefinition } from "../../protocol/definition.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import type { CallRunner } from "../../sessions/call-runner.ts";
import { CallViewer } from "../../sessions/call-viewer.ts";
import type { SessionCaller } from "../../sessions/session-caller.ts";
import { openSessionSocket } from "../../sessions/session-door.ts";
import type { Session } from "../../sessions/session-id.ts";
import { createRunner, storeCall, watch, type SessionCall } from "../../sessions/stored-call.ts";
import { answer } from "../answer.ts";
import type { CallSink } from "../call-sink.ts";
import { enterPatiently } from "../enter.ts";
import type { Entered } from "../entered.ts";
import { EventStream, SSE_HEADERS } from "../event-stream.ts";
import { requestSink, RequestStream } from "../request-stream.ts";
import { respondWhenReady } from "../respond.ts";

const KEEPALIVE_MS = 20_000;
/** For a GET that resumes a call: the call's own tool is not looked up there. */
export const DEFAULT_RESUMABLE: Resumable = { closeAfterMs: 25_000, retryMs: 1000 };

/** The tool that a call is for; undefined: none, or not one that may be called. */
export function toolOf({ backend }: Entered, { method, params }: Call): ToolDefinition | undefined {
  const found = method === "tools/call" && typeof params.name === "string" ? backend.tool(params.name) : undefined;
  return found && !isFailure(found) ? found.definition : undefined;
}

/** Whether a call that waited for its client may go on with the rights under which it was admitted. */
export async function isUnchanged(entered: Entered, call: Call): Promise<boolean> {
  const now = await enterPatiently(entered.visit);
  if (isFailure(now)) return false;
  // What the author says of a tenant has no version.
  if (now.snapshot.version === entered.snapshot.version && now.document === entered.document) return true;
  // No other run can take over a call that may not run twice: it goes on here, as long as it would be let in again.
  const tool = toolOf(now, call);
  return tool !== undefined && !tool.repeatable;
}

export async function runCall(
  entered: Entered,
  call: Call,
  { session, streams }: { readonly session: Session | null; readonly streams: boolean },
): Promise<Response> {
  if (!session) return answerOnStream(entered, call, new RequestStream(entered.visit.request, "2025", streams));
  const tool = toolOf(entered, call);
  const running: SessionCall = { call, session, repeatable: tool?.repeatable ?? true };
  const shown = streams && tool?.resumable ? await showFromBeginning(entered, running, tool.resumable) : undefined;
  if (shown) return shown;
  const stream = new RequestStream(entered.visit.request, "2025", streams);
  return answerOnStream(entered, call, stream, running);
}

/** Stores a call before it runs, and shows its log. undefined: its session has no room for another such call. */
async function showFromBeginning(
  entered: Entered,
  running: SessionCall,
  resumable: Resumable,
): Promise<Response | undefined> {
  const key = await storeCall(entered, running);
  if (key === undefined) return undefined;
  const shown = await showCall(entered, running.session, { key, after: 0, resumable });
  // The call was cancelled before it came, so its log is over and empty. Without this answer it would be run after all.
  return typeof shown === "number" ? new Response(": over\n\n", { headers: SSE_HEADERS }) : shown;
}

/** `running`: the call with its session, by which it can ask its client and be cancelled from anywhere. */
function answerOnStream(entered: Entered, call: Call, stream: RequestStream, running?: SessionCall): Promise<Response> {
  const sink = requestSink(stream, "2025");
  const runner = running && createStreamRunner(entered, running, { sink, stream });
  const asking = runner && stream.isAccepted ? { questions: runner } : {};
  const answered = answer(entered, { ...call, sink, ...asking });
  if (runner) watch(runner, answered, entered);
  return respondWhenReady(answered, { sink, stream, waitUntil: (work) => entered.waitUntil(work) });
}

/** A runner for a call that is answered on its own stream. From its first question on, that stream shows its log. */
function createStreamRunner(
  entered: Entered,
  running: SessionCall,
  { sink, stream }: { readonly sink: CallSink; readonly stream: RequestStream },
): CallRunner {
  const runner = createRunner(entered, running, {
    said: () => sink.said,
    stored: (key) => {
      stream.start();
      sink.divert(runner);
      const { events } = stream;
      if (!events) return;
      stream.whenGone(() => {
        viewer.close();
        runner.leave();
      });
      const viewer = createViewer(entered, { session: running.session, key, stream: events });
      viewer.start(0).catch((error: unknown) => {
        entered.onError(error);
        events.end();
      });
    },
    unchanged: () => isUnchanged(entered, running.call),
    cancelled: () => {
      sink.cancel();
    },
  });
  return runner;
}

/**
 * Shows a stored call's log after event `after`, on a new stream. A number: refused with that HTTP status. Where the
 * revision primes streams, the stream is closed after `closeAfterMs`, and the client comes back for the rest.
 */
export async function showCall(
  caller: Entered,
  session: Session,
  { key, after, resumable }: { readonly key: string; readonly after: number; readonly resumable: Resumable },
): Promise<Response | number> {
  const { closeAfterMs, retryMs } = resumable;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const pause = () => {
    viewer.close();
    clearTimeout(timer ?? null);
    stream.write(`retry: ${retryMs}\n\n`);
  };
  const stream: EventStream = new EventStream({
    keepaliveMs: KEEPALIVE_MS,
    ages: true,
    holder: caller.visit.address,
    gone: () => {
      viewer.close();
      clearTimeout(timer ?? null);
    },
    aged: pause,
  });
  if (session.dialect.primes) {
    stream.prime(`${key}-${after}`, retryMs);
    timer = setTimeout(() => {
      pause();
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
    // The call runs, whoever watches. Its client comes back for what it says, by the place that was primed.
    caller.onError(error);
    pause();
    stream.end();
    if (session.dialect.primes) return stream.respond();
    throw error;
  }
  if (refused === undefined) return stream.respond();
  clearTimeout(timer ?? null);
  stream.end();
  return refused;
}

interface Viewing {
  readonly session: Session;
  readonly key: string;
  readonly stream: EventStream;
  readonly done?: () => void;
}

function createViewer({ doors }: SessionCaller, { session, key, stream, done }: Viewing): CallViewer {
  return new CallViewer({
    connect: (after) => openSessionSocket(doors.sessionObject(session), { as: "viewer", call: key }, after),
    event: (seq, json) => {
      stream.event(json, `${key}-${seq}`);
    },
    over: () => {
      done?.();
      stream.end();
    },
  });
}
