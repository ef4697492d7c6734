// Owns running what the client of one HTTP+SSE stream posts, in the invocation that holds the stream: every answer goes
// there, and stored calls are shown there. Refuses to open the stream or to know where it goes on from.
// https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse

import type { Call } from "../../protocol/call.ts";
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
import { answer } from "../answer.ts";
import { CallSink, type Mouth } from "../call-sink.ts";
import { enter } from "../enter.ts";
import type { Entered } from "../entered.ts";
import type { EventStream } from "../event-stream.ts";
import { failureOf } from "../on-error.ts";
import { NO_HEADERS } from "./posted.ts";
import type { Session } from "../../sessions/session-id.ts";
import { createRunner, storeCall, watch } from "../../sessions/stored-call.ts";
import { isUnchanged, toolOf } from "./calls.ts";

const MAX_RUNNING = 100;
const MAX_POSTS = 1000;
/**
 * The platform lets an invocation ask others 10,000 times, of which handlers may spend some unseen. After so many, when
 * nothing runs, the client must come back to another invocation; after twice as many, nothing new runs in this one.
 */
const ASKED_BY_ONE_INVOCATION = 2500;
/** How long a call goes on after its client left. */
const ORPHAN_MS = 30_000;

/** A post, as the session's object hands it on. */
type Posted = Extract<RunnerMessage, { posted: string }>;

export interface HolderHost {
  /** Whoever opened the stream. */
  readonly entered: Entered;
  readonly events: EventStream;
  /** Shows event number `seq` of the stored call `key`. */
  shown(key: string, seq: number, json: string): void;
  /** Confirms that this post arrived. It may be called twice for the same post. */
  taken(post: string): void;
  /** Ends the stream, so that the client comes back for what cannot be shown or run here. */
  lost(): void;
}

/** What `initialize` agreed on, as the session's object keeps it. */
interface Agreed {
  readonly revision: Revision;
  readonly unofficial: boolean;
  readonly capabilities: JsonObject;
}

/** A call that runs in this invocation. */
interface RunningPost {
  readonly sink: CallSink;
  readonly runner: CallRunner;
}

function idOf(classified: Classified): RequestId | undefined {
  return classified.kind === "message2025" && classified.message.kind === "request" ? classified.message.id : undefined;
}

export class Holder {
  readonly #host: HolderHost;
  readonly #running = new Set<RunningPost>();
  readonly #viewers = new Map<string, CallViewer>();
  /** The ids of the latest posts, because an object that was reset in between hands a post on again. */
  readonly #posts = new Set<string>();
  #session: Session;
  /** How many messages are being worked on. */
  #taken = 0;
  #isOld = false;
  #left = false;

  constructor(host: HolderHost, session: Session) {
    this.#host = host;
    this.#session = session;
  }

  /** Every call speaks on the one stream. An answer waits until the client has read the answers before it. */
  readonly #mouth: Mouth = {
    say: (json) => {
      const { events } = this.#host;
      if (!events.isBehind) events.event(json);
      return true;
    },
    end: (json) => (json === null ? undefined : this.#say(json)),
  };

  /** Takes over what `initialize` agreed on, as an earlier holder of the session wrote it down. */
  recall(agreed: string): void {
    const { revision, unofficial, capabilities } = JSON.parse(agreed) as Agreed;
    this.#session = { ...this.#session, dialect: DIALECTS[revision], unofficial, capabilities };
  }

  /** Runs what the client posted, once. Whatever goes wrong becomes an answer on the stream. */
  take({ posted, id: post }: Posted): void {
    this.#host.taken(post);
    if (this.#posts.has(post)) return;
    this.#posts.add(post);
    const [oldest] = this.#posts;
    if (this.#posts.size > MAX_POSTS && oldest !== undefined) this.#posts.delete(oldest);
    const { entered } = this.#host;
    const classified = classify(JSON.parse(posted), NO_HEADERS);
    const many = classified.kind === "batch2025" ? classified.messages.length : 1;
    this.#taken += many;
    const work = this.#run(classified).catch((error: unknown) => {
      entered.onError(error);
      this.#refuse(idOf(classified), failureOf(error, entered.visit.request));
    });
    entered.waitUntil(
      work.then(() => {
        this.#taken -= many;
        entered.visit.asked += many;
        this.rest();
      }),
    );
  }

  /** Has the client come back to another invocation, at a moment when nothing runs, if this one did enough. */
  rest(isOld = this.#isOld): void {
    this.#isOld = isOld;
    if (this.#taken === 0 && (isOld || this.#asked >= ASKED_BY_ONE_INVOCATION)) this.#host.lost();
  }

  get #asked(): number {
    return this.#host.entered.visit.asked;
  }

  shows(key: string): boolean {
    return this.#viewers.has(key);
  }

  /** Shows a stored call's log after event number `after`, unless it is shown already. */
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
      this.#host.entered.onError(error);
      this.#host.lost();
    }
  }

  /** The client is gone: calls that wait for an answer are left to another run, the others end after `ORPHAN_MS`. */
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
    return this.#host.entered.doors.sessionObject(this.#session);
  }

  async #run(classified: Classified): Promise<void> {
    if (this.#taken > MAX_RUNNING || this.#asked >= 2 * ASKED_BY_ONE_INVOCATION) {
      return this.#refuse(idOf(classified), failure("refused", "Refused: too many calls at once"));
    }
    // Every message is let in anew, as every other request is.
    const entered = await enter(this.#host.entered.visit);
    if (isFailure(entered)) return this.#refuse(idOf(classified), entered);
    if (classified.kind === "batch2025") {
      const session = this.#session;
      const sink = new CallSink(this.#mouth, "2025");
      const json = await runBatch(entered, classified.messages, { session, dialect: session.dialect, sink });
      if (isFailure(json)) return this.#refuse(undefined, json);
      if (json !== undefined) await this.#say(`[${json.join()}]`);
    }
    if (classified.kind !== "message2025" || classified.message.kind !== "request") return;
    if (isInitialize(classified.message)) await this.#initialize(entered, classified.message);
    else await this.#call(entered, call2025(entered, classified.message, this.#session.dialect, this.#session));
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

  async #initialize(entered: Entered, { id, params }: RpcRequest): Promise<void> {
    const initialized = initialize(params ?? {}, entered.backend);
    if (initialized.kind === "failure") return this.#refuse(id, initialized);
    const { negotiated, capabilities, result } = initialized;
    const { dialect, unofficial } = negotiated;
    const agreed: Agreed = { revision: dialect.revision, unofficial, capabilities };
    const agree = async () =>
      (await entered.doors.remembered(this.#session)).agree(JSON.stringify(agreed), this.#session.expires);
    await persistently(agree);
    this.#session = { ...this.#session, dialect, unofficial, capabilities };
    await this.#say(encodeAnswer(id, { kind: "complete", result }, dialect, entered.view.server).json);
  }

  async #call(entered: Entered, call: Call): Promise<void> {
    const session = this.#session;
    const tool = toolOf(entered, call);
    const calling = { call, session, repeatable: tool?.repeatable ?? true };
    // The session's object tells whoever holds the stream then to show the call.
    if (tool?.resumable && (await storeCall(entered, calling)) !== undefined) return;
    const sink = new CallSink(this.#mouth, "2025");
    const runner = createRunner(entered, calling, {
      said: () => sink.said,
      stored: () => {
        sink.divert(runner);
        if (this.#left) runner.leave();
      },
      unchanged: () => isUnchanged(entered, call),
      cancelled: () => {
        sink.cancel();
      },
    });
    const running: RunningPost = { sink, runner };
    this.#running.add(running);
    const settled = answer(entered, { ...call, sink, questions: runner });
    watch(runner, settled, entered);
    const { json } = await settled;
    try {
      await sink.finish(json);
    } catch (error) {
      // The call is stored, and its result could not be: another run brings it.
      entered.onError(error);
    } finally {
      this.#running.delete(running);
    }
  }
}
