// Owns one request of era 2025 on its way: answered at once, on its own stream, or as a stored call that outlives the
// connection: when its tool is resumable, and from the first question that it puts to its client.

import type { Call, Resumable } from "../../protocol/backend.ts";
import { CallViewer } from "../../sessions/call-viewer.ts";
import type { CallRunner } from "../../sessions/call-runner.ts";
import { openSessionSocket } from "../../sessions/session-door.ts";
import { EventStream, SSE_HEADERS } from "../event-stream.ts";
import { answer, type Arrived, type Endpoint } from "../endpoint.ts";
import { respondWhenReady } from "../respond.ts";
import type { Session } from "../../sessions/session-id.ts";
import { RequestSink } from "../call-sink.ts";
import { createRunner, resumableOf, storeCall, watch, type Running } from "./stored-call.ts";

const KEEPALIVE_MS = 20_000;
export const DEFAULT_RESUMABLE: Resumable = { closeAfterMs: 25_000, retryMs: 1000 };

export async function runCall(arrived: Arrived, call: Call, session: Session | null): Promise<Response> {
  const resumable = session && arrived.streams ? resumableOf(arrived, call) : undefined;
  if (session && resumable) {
    const key = await storeCall(arrived, { call, session });
    if (key !== undefined) {
      const shown = await showCall(arrived, session, { key, after: 0, resumable });
      // It is over without a word, because it was cancelled before it came: run another way, it would be run after all.
      return typeof shown === "number" ? new Response(": over\n\n", { headers: SSE_HEADERS }) : shown;
    }
  }
  const sink = new RequestSink(arrived.request, "2025", arrived.streams);
  const runner = session ? createStreamRunner(arrived, { call, session }, sink) : undefined;
  const questions = arrived.streams ? runner : undefined;
  const running = answer(arrived, { ...call, sink, ...(questions === undefined ? {} : { questions }) });
  return respondWhenReady(
    running,
    sink,
    (work) => {
      arrived.waitUntil(work);
    },
    runner &&
      ((settled) => {
        watch(runner, settled, arrived);
      }),
  );
}

/** From its first question on the call's stream shows the call's log. */
function createStreamRunner(arrived: Arrived, running: Running, sink: RequestSink): CallRunner {
  const runner = createRunner(arrived, running, {
    said: () => sink.said,
    stored: (key) => {
      sink.start();
      sink.divert(runner);
      const stream = sink.stream;
      if (!stream) return;
      sink.whenGone(() => {
        viewer.close();
        runner.leave();
      });
      const viewer = createViewer(arrived, { session: running.session, key, stream });
      viewer.start(0).catch((error: unknown) => {
        arrived.onError(error);
        stream.end();
      });
    },
    cancelled: () => {
      sink.cancel();
    },
  });
  return runner;
}

/** A number: refused with that status. */
export async function showCall(
  endpoint: Endpoint,
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
  const viewer = createViewer(endpoint, {
    session,
    key,
    stream,
    done: () => {
      clearTimeout(timer ?? null);
    },
  });
  const refused = await viewer.start(after);
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

function createViewer({ doors }: Endpoint, { session, key, stream, done }: Viewing): CallViewer {
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
