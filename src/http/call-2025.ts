// Owns one request of era 2025 on its way: answered at once, on its own stream, or as a stored call that outlives the
// connection: when its tool is resumable, and from the first question that it puts to its client.

import { hashToken, keptHash } from "../auth/api-key.ts";
import type { Call, Resumable } from "../protocol/backend.ts";
import { encodeFailure } from "../protocol/dispatch.ts";
import type { Revision } from "../protocol/era.ts";
import { failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { CallRunner, newCallKey } from "../streams/call-runner.ts";
import type { NewCall } from "../streams/call-tables.ts";
import { CallViewer } from "../streams/call-viewer.ts";
import { openSessionSocket, persistently } from "../streams/session-door.ts";
import { EventStream } from "./event-stream.ts";
import { answer, type Arrived, type Endpoint } from "./endpoint.ts";
import { respondWhenReady } from "./respond.ts";
import type { Session } from "./session.ts";
import { RequestSink } from "./sse.ts";

/** From then on a call can be cancelled from anywhere; an earlier cancellation is found then. */
const WATCHED_AFTER_MS = 500;
const KEEPALIVE_MS = 20_000;
export const DEFAULT_RESUMABLE: Resumable = { closeAfterMs: 25_000, retryMs: 1000 };

/** Everything that is needed to run a call again, in any isolate. */
export interface CallRecord {
  readonly tenant: string;
  readonly profile: string | null;
  /** Of the key that was brought; null for none. */
  readonly keyHash: string | null;
  readonly principal: string;
  readonly revision: Revision;
  readonly session: Pick<Session, "unofficial" | "capabilities" | "nonce" | "expires">;
  readonly call: Pick<Call, "id" | "method" | "params">;
}

export async function runCall(arrived: Arrived, call: Call, session: Session | null): Promise<Response> {
  const resumable = session && arrived.streams ? resumableOf(arrived, call) : undefined;
  if (session && resumable) {
    const response = await startResumable(arrived, { call, session, resumable });
    if (response) return response;
  }
  const sink = new RequestSink(arrived.request, "2025", arrived.streams);
  const runner = session ? createRunner(arrived, { call, session, sink }) : undefined;
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

function resumableOf({ served }: Arrived, { method, params }: Call): Resumable | undefined {
  const tool = method === "tools/call" && typeof params.name === "string" ? served.tool(params.name) : undefined;
  return tool && !isFailure(tool) ? tool.resumable : undefined;
}

function watch(runner: CallRunner, settled: Promise<unknown>, arrived: Arrived): void {
  const timer = setTimeout(() => {
    runner.watch().catch((error: unknown) => {
      arrived.onError(error);
    });
  }, WATCHED_AFTER_MS);
  void settled.then(() => {
    clearTimeout(timer);
    if (!runner.isStored) runner.close();
  });
}

interface Running {
  readonly call: Call;
  readonly session: Session;
}

function createRunner(arrived: Arrived, { call, session, sink }: Running & { readonly sink: RequestSink }): CallRunner {
  const runner = new CallRunner({
    object: () => arrived.doors.sessionObject(session),
    expires: session.expires,
    request: JSON.stringify(call.id),
    describe: async () => ({ ...(await describe(arrived, { call, session })), said: sink.said }),
    stored: (key) => {
      sink.start();
      sink.divert(runner);
      const stream = sink.stream;
      if (!stream) return;
      sink.whenGone(() => {
        viewer.close();
        runner.leave();
      });
      const viewer = createViewer(arrived, { session, key, stream });
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

async function describe(
  { tenant, profile, token, admitted }: Arrived,
  { call, session }: Running,
): Promise<Pick<NewCall, "record" | "fallback">> {
  const { id, method, params } = call;
  const { unofficial, capabilities, nonce, expires } = session;
  const record: CallRecord = {
    tenant,
    profile,
    keyHash: token === null ? null : (keptHash(token) ?? (await hashToken(token))),
    principal: admitted.principal.id,
    revision: session.dialect.revision,
    session: { unofficial, capabilities, nonce, expires },
    call: { id, method, params },
  };
  return {
    record: JSON.stringify(record),
    fallback: encodeFailure(id, failure("internal", "Internal error: the call could not be run to its end"), "2025")
      .json,
  };
}

/** undefined: the session has no room for another stored call. */
async function startResumable(
  arrived: Arrived,
  { call, session, resumable }: Running & { readonly resumable: Resumable },
): Promise<Response | undefined> {
  const key = newCallKey();
  const described = await describe(arrived, { call, session });
  const stored = { key, request: JSON.stringify(call.id), said: 0, ...described };
  const start = async () => arrived.doors.sessionObject(session).start(stored, session.expires);
  if (!(await persistently(start))) return undefined;
  const shown = await showCall(arrived, session, { key, after: 0, resumable });
  return typeof shown === "number" ? undefined : shown;
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
