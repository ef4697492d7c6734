// Runs the messages that the client of one HTTP+SSE stream posts, in the invocation that holds the stream. Every
// response and every stored call's log goes to that stream.
// https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse

import type { McpRequest } from "../../protocol/mcp-request.ts";
import { classify, type Classified } from "../../protocol/classify.ts";
import { encodeOutcome, encodeFailure } from "../../protocol/dispatch.ts";
import { REVISION_FEATURES, type ProtocolVersion } from "../../protocol/revisions.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import type { JsonObject, MessageId, RpcRequest } from "../../protocol/jsonrpc.ts";
import { initialize } from "../../protocol/methods/lifecycle.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import { CallViewer } from "../../sessions/call-viewer.ts";
import type { CallRunner } from "../../sessions/call-runner.ts";
import { openSessionSocket } from "../../sessions/session-stub.ts";
import { withRetries } from "../../streams/with-retries.ts";
import type { RunnerMessage } from "../../streams/socket-messages.ts";
import { createRequest2025, isInitialize, runBatch } from "./answer-2025.ts";
import { MEMORY_BUDGET, SMALL_BYTES, type MemoryReservation } from "../../tenants/cache/memory-budget.ts";
import { parsedMemory } from "../body.ts";
import { handleRequest, NO_MEMORY } from "../handle-request.ts";
import { CallOutput, type ResponseChannel } from "../call-output.ts";
import { authorizeRequest } from "../authorize-request.ts";
import type { AuthorizedRequest } from "../authorized-request.ts";
import type { EventStream } from "../event-stream.ts";
import { failureOf } from "../failure-of-error.ts";
import { NO_HEADERS } from "./sse-post.ts";
import type { Session } from "../../sessions/session-id.ts";
import { createRunner, storeCall, connectWhenSlow } from "../../sessions/store-call.ts";
import { isStillAuthorized, requestedTool } from "./run-call.ts";

const MAX_RUNNING = 100;
const MAX_POSTS = 1000;
/**
 * The platform allows an invocation 10,000 subrequests, of which handlers may use some unseen. After this many, the
 * client must reconnect to another invocation as soon as nothing runs. After twice as many, nothing new runs in this
 * invocation.
 */
const MAX_SUBREQUESTS = 2500;
/** How long a call continues after its client disconnected. */
const ORPHAN_MS = 30_000;

/** A POST, as the session object forwards it. */
type PostedMessage = Extract<RunnerMessage, { posted: string }>;

export interface SseConnectionHost {
  /** The request that opened the stream. */
  readonly authorized: AuthorizedRequest;
  readonly events: EventStream;
  /** Sends event number `seq` of the stored call `key`. */
  sendStoredEvent(key: string, seq: number, json: string): void;
  /** Confirms the arrival of a post. May be called twice for the same post. */
  acknowledge(post: string): void;
  /** Ends the stream, so that the client reconnects for what cannot be shown or run here. */
  reconnect(): void;
}

/** The result of `initialize`, as the session object stores it. */
interface StoredNegotiation {
  readonly revision: ProtocolVersion;
  readonly unofficial: boolean;
  readonly capabilities: JsonObject;
}

/** A call that runs in this invocation. */
interface RunningCall {
  readonly sink: CallOutput;
  readonly runner: CallRunner;
}

function idOf(classified: Classified): MessageId | undefined {
  return classified.kind === "message2025" && classified.message.kind === "request" ? classified.message.id : undefined;
}

export class SseConnection {
  readonly #connectionHost: SseConnectionHost;
  readonly #running = new Set<RunningCall>();
  readonly #viewers = new Map<string, CallViewer>();
  /** Ids of the latest posts: a session object that was reset may forward a post again. */
  readonly #posts = new Set<string>();
  #session: Session;
  /** How many messages are being processed. */
  #activeMessages = 0;
  #isOld = false;
  #isDisconnected = false;

  constructor(connectionHost: SseConnectionHost, session: Session) {
    this.#connectionHost = connectionHost;
    this.#session = session;
  }

  /** All calls share one stream. A response waits until the client has read the responses before it. */
  readonly #channel: ResponseChannel = {
    write: (json) => {
      const { events } = this.#connectionHost;
      if (!events.isBehind) events.writeEvent(json);
      return true;
    },
    end: (json) => (json === null ? undefined : this.#send(json)),
  };

  /** Restores the result of `initialize` that an earlier holder of the session stored. */
  restoreNegotiation(negotiation: string): void {
    const { revision, unofficial, capabilities } = JSON.parse(negotiation) as StoredNegotiation;
    this.#session = { ...this.#session, revision: REVISION_FEATURES[revision], unofficial, capabilities };
  }

  /** Runs the posted message, once. Every error becomes a response on the stream. */
  handlePost({ posted, id: post }: PostedMessage): void {
    this.#connectionHost.acknowledge(post);
    if (this.#posts.has(post)) return;
    this.#posts.add(post);
    const [oldest] = this.#posts;
    if (this.#posts.size > MAX_POSTS && oldest !== undefined) this.#posts.delete(oldest);
    const { authorized } = this.#connectionHost;
    const classified = classify(JSON.parse(posted), NO_HEADERS);
    // The memory that its POST reserved is released by now.
    const reservation = MEMORY_BUDGET.createReservation(authorized.context.clientAddress);
    const isLarge = posted.length > SMALL_BYTES;
    if (isLarge && !reservation.resize(parsedMemory(posted))) return this.#sendFailure(idOf(classified), NO_MEMORY);
    const many = classified.kind === "batch2025" ? classified.messages.length : 1;
    this.#activeMessages += many;
    const work = this.#run(classified, reservation).catch((error: unknown) => {
      authorized.onError(error);
      this.#sendFailure(idOf(classified), failureOf(error, authorized.context.request));
    });
    authorized.waitUntil(
      work.then(() => {
        reservation.release();
        this.#activeMessages -= many;
        authorized.context.subrequestCount += many;
        this.reconnectWhenIdle();
      }),
    );
  }

  /**
   * Makes the client reconnect to another invocation, at a moment when nothing runs, if this invocation is old or near
   * its subrequest limit.
   */
  reconnectWhenIdle(isOld = this.#isOld): void {
    this.#isOld = isOld;
    if (this.#activeMessages === 0 && (isOld || this.#subrequestCount >= MAX_SUBREQUESTS))
      this.#connectionHost.reconnect();
  }

  get #subrequestCount(): number {
    return this.#connectionHost.authorized.context.subrequestCount;
  }

  isReplaying(key: string): boolean {
    return this.#viewers.has(key);
  }

  /** Streams a stored call's log after event number `after`, unless it is being streamed already. */
  async replay(key: string, after: number): Promise<void> {
    if (this.#isDisconnected || this.#viewers.has(key)) return;
    const viewer = new CallViewer({
      connect: (from) => openSessionSocket(this.#sessionObject(), { as: "viewer", call: key }, from),
      onEvent: (seq, json) => {
        this.#connectionHost.sendStoredEvent(key, seq, json);
      },
      onEnd: () => {
        this.#viewers.delete(key);
      },
    });
    this.#viewers.set(key, viewer);
    try {
      if ((await viewer.start(after)) !== undefined) this.#viewers.delete(key);
    } catch (error) {
      this.#connectionHost.authorized.onError(error);
      this.#connectionHost.reconnect();
    }
  }

  /**
   * The client is gone. Calls that wait for a client response are left to another run; the others end after
   * `ORPHAN_MS`.
   */
  disconnect(): void {
    if (this.#isDisconnected) return;
    this.#isDisconnected = true;
    for (const viewer of this.#viewers.values()) viewer.close();
    for (const { runner } of this.#running) runner.onClientGone();
    if (this.#activeMessages === 0) return;
    setTimeout(() => {
      for (const { sink, runner } of this.#running) {
        // A stored call continues in another run; other calls end.
        if (runner.isStored) runner.abandon();
        sink.cancel();
      }
    }, ORPHAN_MS);
  }

  #sessionObject() {
    return this.#connectionHost.authorized.sessionStubs.sessionObject(this.#session);
  }

  async #run(classified: Classified, reservation: MemoryReservation): Promise<void> {
    if (this.#activeMessages > MAX_RUNNING || this.#subrequestCount >= 2 * MAX_SUBREQUESTS) {
      return this.#sendFailure(idOf(classified), failure("refused", "Refused: too many calls at once"));
    }
    // Every message is authorized anew, as every other request is.
    const authorized = await authorizeRequest(this.#connectionHost.authorized.context);
    if (isFailure(authorized)) return this.#sendFailure(idOf(classified), authorized);
    if (classified.kind === "batch2025") {
      const session = this.#session;
      const sink = new CallOutput(this.#channel, "2025");
      const json = await runBatch(authorized, classified.messages, {
        session,
        revision: session.revision,
        sink,
        reservation,
      });
      if (isFailure(json)) return this.#sendFailure(undefined, json);
      // The stream reserves memory for what it writes.
      reservation.release();
      if (json !== undefined) await this.#send(`[${json.join()}]`);
    }
    if (classified.kind !== "message2025" || classified.message.kind !== "request") return;
    if (isInitialize(classified.message)) await this.#initialize(authorized, classified.message);
    else
      await this.#runCall(
        authorized,
        createRequest2025(authorized, classified.message, this.#session.revision, this.#session),
        reservation,
      );
  }

  #sendFailure(id: MessageId | undefined, reason: Failure): void {
    void this.#send(encodeFailure(id, reason, "2025").json);
  }

  #send(json: string): Promise<void> {
    const { events } = this.#connectionHost;
    return events.writeInTurn(json.length, () => {
      events.writeEvent(json);
    });
  }

  async #initialize(authorized: AuthorizedRequest, { id, params }: RpcRequest): Promise<void> {
    const initialized = initialize(params ?? {}, authorized.handlers);
    if (initialized.kind === "failure") return this.#sendFailure(id, initialized);
    const { negotiation, capabilities, result } = initialized;
    const { revision, isUnknownRevision: unofficial } = negotiation;
    const stored: StoredNegotiation = { revision: revision.version, unofficial, capabilities };
    const saveNegotiation = async () =>
      (await authorized.sessionStubs.registerSession(this.#session)).saveNegotiation(
        JSON.stringify(stored),
        this.#session.expires,
      );
    await withRetries(saveNegotiation);
    this.#session = { ...this.#session, revision, unofficial, capabilities };
    await this.#send(encodeOutcome(id, { kind: "complete", result }, revision, authorized.view.server).json);
  }

  async #runCall(authorized: AuthorizedRequest, call: McpRequest, reservation: MemoryReservation): Promise<void> {
    const session = this.#session;
    const tool = requestedTool(authorized, call);
    const sessionCall = { call, session, repeatable: tool?.repeatable ?? true };
    // The session object then tells the stream's holder to show the call.
    if (tool?.resumable && (await storeCall(authorized, sessionCall)) !== undefined) return;
    const sink = new CallOutput(this.#channel, "2025");
    const runner = createRunner(authorized, sessionCall, {
      notificationCount: () => sink.notificationCount,
      onStored: () => {
        sink.divert(runner);
        if (this.#isDisconnected) runner.onClientGone();
      },
      hasSameRights: () => isStillAuthorized(authorized, call),
      onCancelled: () => {
        sink.cancel();
      },
    });
    const running: RunningCall = { sink, runner };
    this.#running.add(running);
    const handling = handleRequest(authorized, { ...call, sink, clientRequester: runner });
    connectWhenSlow(runner, handling, authorized);
    const { json } = await handling;
    reservation.release();
    try {
      await sink.finish(json);
    } catch (error) {
      // The call is stored, but its result could not be: another run delivers it.
      authorized.onError(error);
    } finally {
      this.#running.delete(running);
    }
  }
}
