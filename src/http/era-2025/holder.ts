// Owns running what the client of one HTTP+SSE stream posts, in the invocation that holds the stream: every answer goes
// there, and stored calls are shown there. Refuses to open the stream or to know where it goes on from.
// https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse

import type { Call } from "../../protocol/backend.ts";
import { classify, type Classified } from "../../protocol/classify.ts";
import { encodeAnswer, encodeFailure } from "../../protocol/dispatch.ts";
import { DIALECTS, type Revision } from "../../protocol/era.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import type { JsonObject, RequestId, RpcRequest } from "../../protocol/jsonrpc.ts";
import { initialize } from "../../protocol/methods/lifecycle.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import { CallViewer } from "../../sessions/call-viewer.ts";
import type { CallRunner } from "../../sessions/call-runner.ts";
import { openSessionSocket } from "../../sessions/session-door.ts";
import { persistently } from "../../streams/persistently.ts";
import type { RunnerMessage } from "../../streams/wire.ts";
import { call2025, isInitialize, runBatch } from "./answers.ts";
import { answer, type Arrived, type Endpoint } from "../endpoint.ts";
import type { EventStream } from "../event-stream.ts";
import { HeldSink } from "./held-sink.ts";
import { failureOf } from "../on-error.ts";
import { NO_HEADERS } from "./posted.ts";
import type { Session } from "../../sessions/session-id.ts";
import { createRunner, resumableOf, storeCall, watch } from "./stored-call.ts";

const MAX_RUNNING = 100;
const MAX_POSTS = 1000;
/** An invocation may do only so much: the client comes back to another one when nothing runs. */
const POSTS_FOR_ONE_INVOCATION = 3000;
/** How long a call goes on when its client is gone. */
const ORPHAN_MS = 30_000;

/** As the session's object hands it on. */
type Posted = Extract<RunnerMessage, { posted: string }>;

export interface HolderHost {
  readonly endpoint: Endpoint;
  readonly events: EventStream;
  /** An event of a stored call: `seq` of `key` was shown. */
  shown(key: string, seq: number, json: string): void;
  /** This post arrived; it may be said again. */
  taken(post: string): void;
  /** Something cannot be shown here: the client shall come back for it. */
  lost(): void;
}

/** What `initialize` agreed on, as the session's object keeps it. */
interface Agreed {
  readonly revision: Revision;
  readonly unofficial: boolean;
  readonly capabilities: JsonObject;
}

interface Running {
  readonly sink: HeldSink;
  readonly runner: CallRunner;
}

function idOf(classified: Classified): RequestId | undefined {
  return classified.kind === "message2025" && classified.message.kind === "request" ? classified.message.id : undefined;
}

export class Holder {
  readonly #host: HolderHost;
  readonly #running = new Set<Running>();
  readonly #viewers = new Map<string, CallViewer>();
  /** What was posted of late: an object that was reset in the middle hands it on again. */
  readonly #posts = new Set<string>();
  #session: Session;
  #taken = 0;
  #served = 0;
  #left = false;

  constructor(host: HolderHost, session: Session) {
    this.#host = host;
    this.#session = session;
  }

  /** What an earlier holder of the same session wrote down. */
  recall(agreed: string): void {
    const { revision, unofficial, capabilities } = JSON.parse(agreed) as Agreed;
    this.#session = { ...this.#session, dialect: DIALECTS[revision], unofficial, capabilities };
  }

  /** What a client posted. It ends here: whatever goes wrong becomes an answer. */
  take({ posted, id: post }: Posted): void {
    this.#host.taken(post);
    if (this.#posts.has(post)) return;
    this.#posts.add(post);
    const [oldest] = this.#posts;
    if (this.#posts.size > MAX_POSTS && oldest !== undefined) this.#posts.delete(oldest);
    const { endpoint } = this.#host;
    const classified = classify(JSON.parse(posted), NO_HEADERS);
    const many = classified.kind === "batch2025" ? classified.messages.length : 1;
    this.#taken += many;
    const work = this.#run(classified).catch((error: unknown) => {
      endpoint.onError(error);
      this.#refuse(idOf(classified), failureOf(error, endpoint.request));
    });
    endpoint.waitUntil(
      work.then(() => {
        this.#taken -= many;
        this.#served += many;
        if (this.#taken === 0 && this.#served >= POSTS_FOR_ONE_INVOCATION) this.#host.lost();
      }),
    );
  }

  shows(key: string): boolean {
    return this.#viewers.has(key);
  }

  /** Shows a stored call after `after`. */
  async show(key: string, after: number): Promise<void> {
    if (this.#left || this.#viewers.has(key)) return;
    const viewer = new CallViewer({
      connect: (from) => openSessionSocket(this.#object(), { as: "viewer", call: key }, from),
      event: (seq, json) => {
        this.#host.shown(key, seq, json);
      },
      over: () => {
        this.#viewers.delete(key);
      },
    });
    this.#viewers.set(key, viewer);
    try {
      if ((await viewer.start(after)) !== undefined) this.#viewers.delete(key);
    } catch (error) {
      this.#host.endpoint.onError(error);
      this.#host.lost();
    }
  }

  /** The client is gone: questions are for whoever it comes back to, and the rest has little time left. */
  leave(): void {
    if (this.#left) return;
    this.#left = true;
    for (const viewer of this.#viewers.values()) viewer.close();
    for (const { runner } of this.#running) runner.leave();
    if (this.#taken === 0) return;
    setTimeout(() => {
      for (const { sink, runner } of this.#running) {
        // What is stored goes on elsewhere; the rest ends.
        if (runner.isStored) runner.abandon();
        sink.cancel();
      }
    }, ORPHAN_MS);
  }

  #object() {
    return this.#host.endpoint.doors.sessionObject(this.#session);
  }

  async #run(classified: Classified): Promise<void> {
    const arrived =
      this.#taken > MAX_RUNNING ? failure("refused", "Refused: too many calls at once") : await this.#arrive();
    if (isFailure(arrived)) return this.#refuse(idOf(classified), arrived);
    if (classified.kind === "batch2025") {
      const session = this.#session;
      const json = await runBatch(arrived, classified.messages, { session, dialect: session.dialect });
      if (isFailure(json)) return this.#refuse(undefined, json);
      if (json !== undefined) await this.#say(json);
    }
    if (classified.kind !== "message2025" || classified.message.kind !== "request") return;
    if (isInitialize(classified.message)) await this.#initialize(arrived, classified.message);
    else await this.#call(arrived, call2025(arrived, classified.message, this.#session.dialect, this.#session));
  }

  #refuse(id: RequestId | undefined, why: Failure): void {
    void this.#say(encodeFailure(id, why, "2025").json);
  }

  #say(json: string): Promise<void> {
    const { events } = this.#host;
    return events.inTurn(json.length, () => {
      events.event(json);
    });
  }

  /** Admitted anew for every message, as every other request is. */
  async #arrive(): Promise<Arrived | Failure> {
    const { endpoint } = this.#host;
    try {
      const held = await endpoint.snapshot();
      const admitted = isFailure(held) ? held : endpoint.admit(held);
      if (isFailure(held) || isFailure(admitted)) return admitted as Failure;
      const served = endpoint.backend(admitted, held);
      return { ...endpoint, held, admitted, served, inbound: NO_HEADERS, streams: true };
    } catch (error) {
      endpoint.onError(error);
      return failure("unavailable", "Service unavailable: this tenant cannot be served right now");
    }
  }

  async #initialize(arrived: Arrived, { id, params }: RpcRequest): Promise<void> {
    const initialized = initialize(params ?? {}, arrived.served);
    if (initialized.kind === "failure") return this.#refuse(id, initialized);
    const { negotiated, capabilities, result } = initialized;
    const { dialect, unofficial } = negotiated;
    const agreed: Agreed = { revision: dialect.revision, unofficial, capabilities };
    const agree = async () =>
      (await arrived.doors.remembered(this.#session)).agree(JSON.stringify(agreed), this.#session.expires);
    await persistently(agree);
    this.#session = { ...this.#session, dialect, unofficial, capabilities };
    await this.#say(encodeAnswer(id, { kind: "complete", result }, dialect, arrived.served.server).json);
  }

  async #call(arrived: Arrived, call: Call): Promise<void> {
    const session = this.#session;
    // Its object tells whoever holds the stream by then to show it.
    if (resumableOf(arrived, call) && (await storeCall(arrived, { call, session })) !== undefined) return;
    const sink = new HeldSink(this.#host.events);
    const runner = createRunner(
      arrived,
      { call, session },
      {
        said: () => sink.said,
        stored: () => {
          sink.divert(runner);
          if (this.#left) runner.leave();
        },
        cancelled: () => {
          sink.cancel();
        },
      },
    );
    const running: Running = { sink, runner };
    this.#running.add(running);
    const settled = answer(arrived, { ...call, sink, questions: runner });
    watch(runner, settled, arrived);
    const { json } = await settled;
    try {
      await sink.finish(json);
    } catch (error) {
      // Of a stored call: another run brings its result.
      arrived.onError(error);
    } finally {
      this.#running.delete(running);
    }
  }
}
