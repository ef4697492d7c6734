// The stream of the HTTP+SSE transport of revision 2024-11-05: its session, its endpoint event, its messages, and its
// position when a client reconnects. The stream seldom ends, because some clients do not send Last-Event-ID.
// https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse

import { digest } from "../../auth/seal.ts";
import { findRevision2025, REVISION_FEATURES } from "../../protocol/revisions.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import { notification } from "../../protocol/jsonrpc.ts";
import { ReconnectingWebSocket } from "../../streams/reconnecting-web-socket.ts";
import type { FeedState } from "../../streams/change-feed.ts";
import { openSessionSocket } from "../../sessions/session-stub.ts";
import { withRetries } from "../../streams/with-retries.ts";
import type { SseState } from "../../sessions/session-object.ts";
import type { RunnerMessage } from "../../streams/socket-messages.ts";
import { findSession, ownerOf } from "../../sessions/find-session.ts";
import type { AuthorizedRequest } from "../authorized-request.ts";
import { publicUrl } from "../../deployment/mount.ts";
import { SseConnection } from "./sse-connection.ts";
import { eventIdOf, parseEventId } from "../event-ids.ts";
import { openNotifications, rejectStream, sessionFilter } from "../notifications.ts";
import { SESSION_UNAVAILABLE } from "./sse-post.ts";
import { createSessionId, type Session } from "../../sessions/session-id.ts";

const RETRY_MS = 1000;
/** How often the age of the stream's invocation is checked, and after how many checks it is too old. */
const AGE_CHECK_MS = 30 * 60_000;
const MAX_AGE_CHECKS = 12;
const STREAM_NAME = /^[\w.~-]{16,64}$/;
/** How many stored calls an event id names: as many as a session object stores. */
const MAX_REPLAYED_CALLS = 50;
/** The state of a stream whose history is unknown: these digests match no list, so every list counts as changed. */
const UNKNOWN_STATE: FeedState = {
  versions: { definitions: 0, content: 0 },
  digests: { tools: "", prompts: "", resources: "" },
};

const NO_STREAM = failure("invalidRequest", "Invalid Request: Last-Event-ID names no stream of this transport");

/** Where a stream was: the state of its lists, and the last event of each stored call. */
interface Position {
  readonly state: FeedState;
  readonly lastEvents: ReadonlyMap<string, number>;
}

export async function openSseStream(authorized: AuthorizedRequest): Promise<Response | Failure> {
  try {
    const streamSession = await findStreamSession(authorized);
    return isStreamSession(streamSession) ? await new SseStream(authorized, streamSession).open() : streamSession;
  } catch (error) {
    authorized.onError(error);
    return SESSION_UNAVAILABLE;
  }
}

interface StreamSession {
  readonly id: string;
  readonly session: Session;
  readonly position: Position | undefined;
}

function isStreamSession(result: StreamSession | Failure): result is StreamSession {
  return "session" in result;
}

async function findStreamSession(authorized: AuthorizedRequest): Promise<StreamSession | Failure> {
  const { headers, url } = authorized.context.request;
  const { searchParams } = new URL(url);
  const name = searchParams.get("stream");
  if (name !== null && !STREAM_NAME.test(name)) {
    return failure("invalidRequest", "Invalid Request: stream must have 16 to 64 letters, digits or -._~");
  }
  const lastEventId = headers.get("last-event-id");
  if (lastEventId !== null) return resumeStream(authorized, lastEventId);
  const id = searchParams.get("sessionId") ?? (await newSession(authorized, name));
  const session = await findSession(authorized, id);
  return session ? { id, session, position: undefined } : failure("sessionNotFound");
}

/** Looks up the session first: the state in another tenant's event id cannot be read either. */
async function resumeStream(authorized: AuthorizedRequest, eventId: string): Promise<StreamSession | Failure> {
  const parsedId = parseSseEventId(eventId);
  if (!parsedId) return NO_STREAM;
  const { id, notificationId, lastEvents } = parsedId;
  const session = await findSession(authorized, id);
  if (!session) return failure("sessionNotFound");
  const state = await parseEventId(authorized.ring, notificationId);
  return state ? { id, session, position: { state, lastEvents } } : NO_STREAM;
}

/**
 * `name`: a secret of clients that send no Last-Event-ID; it identifies the same session each time. null: a new
 * session.
 */
async function newSession(authorized: AuthorizedRequest, name: string | null): Promise<string> {
  const owner = ownerOf(authorized);
  const revision =
    findRevision2025(authorized.context.request.headers.get("mcp-protocol-version") ?? "") ??
    REVISION_FEATURES["2024-11-05"];
  const nonce =
    name === null ? undefined : await digest(JSON.stringify(["stream", owner.profile, owner.principal, name]));
  return createSessionId(owner, { revision, isUnknownRevision: false, version: revision.version }, {}, { nonce });
}

interface ParsedEventId {
  readonly id: string;
  /** The event id of the last notification. */
  readonly notificationId: string;
  readonly lastEvents: Position["lastEvents"];
}

function parseSseEventId(eventId: string): ParsedEventId | undefined {
  const [, id, notificationId, calls = ""] = /^([\w.-]{1,512})~(n\.[\w.-]+)~([\w,-]*)$/.exec(eventId) ?? [];
  if (id === undefined || notificationId === undefined) return undefined;
  const lastEvents = [...calls.matchAll(/([0-9a-f]{16})-(\d{1,9})/g)].map(
    ([, key = "", seq]) => [key, Number(seq)] as const,
  );
  return { id, notificationId, lastEvents: new Map(lastEvents.slice(-MAX_REPLAYED_CALLS)) };
}

class SseStream {
  readonly #authorized: AuthorizedRequest;
  readonly #streamSession: StreamSession;
  /** The last written event of each stored call, for event ids; the latest written are last. */
  readonly #sentSeqs: Map<string, number>;
  /** The last queued event of each call: event ids must not name it yet, and no viewer may repeat it. */
  readonly #queuedEvents = new Map<string, number>();
  readonly #stream: ReturnType<typeof openNotifications>;
  readonly #connection: SseConnection;
  readonly #socket: ReconnectingWebSocket;
  #ageChecks = 0;
  /** Jittered, so that streams which began together do not reconnect together. */
  readonly #ageTimer = setInterval(
    () => {
      this.#ageChecks += 1;
      this.#runAfterStart(() => {
        this.#connection.reconnectWhenIdle(this.#ageChecks >= MAX_AGE_CHECKS);
      });
    },
    AGE_CHECK_MS * (0.9 + 0.2 * Math.random()),
  );
  /** The id of the last notification, or of the position where the stream began. */
  #lastNotificationId = "";
  /**
   * Messages that arrived before the stream began. Until then its endpoint and the result of `initialize` are not
   * known.
   */
  #startQueue: (() => void)[] | undefined = [];

  constructor(authorized: AuthorizedRequest, streamSession: StreamSession) {
    const { session, position } = streamSession;
    this.#authorized = authorized;
    this.#streamSession = streamSession;
    this.#sentSeqs = new Map(position?.lastEvents);
    this.#stream = openNotifications(authorized, {
      listener: { session: session.nonce, profile: authorized.profile, principal: session.principal },
      hasMaxAge: false,
      filter: () => sessionFilter(authorized.sessionStubs, session),
      resumable: true,
      send: (events, method, params, id = "") => {
        this.#lastNotificationId = id;
        events.writeEvent(notification(method, params), this.#eventId());
      },
      sendFinal: () => {},
      onClose: () => {
        this.#onClose();
      },
    });
    const { events } = this.#stream;
    this.#connection = new SseConnection(
      {
        authorized,
        events,
        sendStoredEvent: (key, seq, json) => {
          this.#queuedEvents.set(key, seq);
          void events.writeInTurn(json.length, () => {
            if (this.#queuedEvents.get(key) === seq) this.#queuedEvents.delete(key);
            this.#recordSent(key, seq);
            events.writeEvent(json, this.#eventId());
          });
        },
        acknowledge: (post) => {
          this.#socket.send(post);
        },
        reconnect: () => {
          this.#onClose();
        },
      },
      session,
    );
    const since = Date.now();
    const open = (isReconnect: boolean) =>
      openSessionSocket(authorized.sessionStubs.sessionObject(session), { as: "holder", since, again: isReconnect });
    this.#socket = new ReconnectingWebSocket(open, {
      onMessage: (message) => {
        this.#runAfterStart(() => {
          this.#handleMessage(message as RunnerMessage);
        });
      },
      onReconnect: () => {
        this.#runAfterStart(() => {
          this.#replayMissedCalls();
        });
      },
      // Replaced by a newer stream, or the session is over.
      onEnd: () => {
        this.#onClose();
      },
    });
  }

  async open(): Promise<Response | Failure> {
    try {
      return await this.#start();
    } catch (error) {
      this.#onClose();
      throw error;
    }
  }

  #onClose(): void {
    clearInterval(this.#ageTimer);
    this.#stream.feed.close();
    this.#stream.events.end();
    this.#socket.close();
    this.#connection.disconnect();
  }

  #runAfterStart(work: () => void): void {
    if (this.#startQueue) this.#startQueue.push(work);
    else work();
  }

  #handleMessage(message: RunnerMessage): void {
    if ("stored" in message) void this.#connection.replay(message.stored, this.#lastEventOf(message.stored));
    if ("posted" in message) this.#connection.handlePost(message);
  }

  #lastEventOf(key: string): number {
    return this.#queuedEvents.get(key) ?? this.#sentSeqs.get(key) ?? 0;
  }

  /** Replays the calls that were stored while the socket was lost. */
  #replayMissedCalls(): void {
    this.#fetchConnectionState()
      .then(({ calls }) => {
        for (const { key, from } of calls) {
          const lastEvent = this.#lastEventOf(key);
          if (lastEvent <= from) void this.#connection.replay(key, lastEvent);
        }
      })
      .catch((error: unknown) => {
        this.#authorized.onError(error);
      });
  }

  #fetchConnectionState(): Promise<SseState> {
    return withRetries(async () => this.#authorized.sessionStubs.sessionObject(this.#streamSession.session).sseState());
  }

  async #start(): Promise<Response | Failure> {
    const { position } = this.#streamSession;
    const { events, feed } = this.#stream;
    await withRetries(() => this.#socket.start());
    const { negotiation, calls } = await this.#fetchConnectionState();
    if (negotiation !== null) this.#connection.restoreNegotiation(negotiation);
    const started = await feed.start(position?.state ?? (negotiation === null ? undefined : UNKNOWN_STATE));
    if (typeof started === "number") {
      this.#onClose();
      return rejectStream(this.#authorized, events, started);
    }
    this.#lastNotificationId = await eventIdOf(this.#authorized.ring, started);
    events.write(`retry: ${RETRY_MS}\nid: ${this.#eventId()}\nevent: endpoint\ndata: ${this.#endpoint()}\n\n`);
    // A client with Last-Event-ID gets what follows. For a client without, everything up to `from` counts as shown.
    for (const { key, from } of calls) if (!position) this.#recordSent(key, from);
    await Promise.all(calls.map(({ key }) => this.#connection.replay(key, this.#sentSeqs.get(key) ?? 0)));
    this.#stream.begin();
    for (const work of this.#startQueue ?? []) work();
    this.#startQueue = undefined;
    return events.respond();
  }

  /** The path and query to post to: this request's own, with the session added. */
  #endpoint(): string {
    const { request, deployment } = this.#authorized.context;
    const url = publicUrl(request, deployment.path);
    url.searchParams.delete("stream");
    url.searchParams.set("sessionId", this.#streamSession.id);
    return `${url.pathname}${url.search}`;
  }

  #recordSent(key: string, seq: number): void {
    this.#sentSeqs.delete(key);
    this.#sentSeqs.set(key, seq);
    // Calls that are no longer streamed are dropped first: a dropped call would be replayed from its beginning.
    const oldest = [...this.#sentSeqs.keys()].find((one) => !this.#connection.isReplaying(one));
    if (this.#sentSeqs.size > MAX_REPLAYED_CALLS && oldest !== undefined) this.#sentSeqs.delete(oldest);
  }

  #eventId(): string {
    const replayPositions = [...this.#sentSeqs].map(([key, seq]) => `${key}-${seq}`).join(",");
    return `${this.#streamSession.id}~${this.#lastNotificationId}~${replayPositions}`;
  }
}
