// Notification streams: GET with a session in era 2025, `subscriptions/listen` in era 2026.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

import { digest } from "../auth/seal.ts";
import type { View } from "../catalog/view.ts";
import { createPatternBudget } from "../resources/pattern-budget.ts";
import { AppError } from "../protocol/app-error.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { notification, resultResponse, type MessageId } from "../protocol/jsonrpc.ts";
import { SourceSubscriptions } from "../catalog/source-subscriptions.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { acknowledgedParams, subscriptionMeta, type ListenFilter } from "../protocol/methods/subscriptions.ts";
import {
  ChangeFeed,
  type FeedHost,
  type FeedState,
  type TenantChanges,
  type StreamAccess,
} from "../streams/change-feed.ts";
import type { ChangeVersions } from "../streams/pending-changes.ts";
import { withRetries } from "../streams/with-retries.ts";
import { createChangeClient } from "../tenants/object/change-rpc.ts";
import type { Changes } from "../tenants/object/changes.ts";
import { eventIdOf } from "./event-ids.ts";
import { EventStream } from "./event-stream.ts";
import { concurrencyFailure } from "./rate-limit.ts";
import type { SessionStubs } from "../sessions/session-stubs.ts";
import { authorizeRequest } from "./authorize-request.ts";
import type { AuthorizedRequest } from "./authorized-request.ts";
import type { Session } from "../sessions/session-id.ts";

/** A disconnected client is noticed only when something is written to it, and costs a socket until then. */
const KEEPALIVE_MS = 22_000;
const RETRY_MS = 1000;
/**
 * Small, because many streams share an isolate's memory. Notifications of all possible subscriptions take half of it.
 */
const UNREAD_BYTES = 1024 * 1024;
/** The result with which the server ends a `subscriptions/listen`. */
const LISTEN_RESULT = { resultType: "complete" } as const;

/** Answers `subscriptions/listen` with a stream. A failure: no stream was opened. */
export async function answerListen(
  authorized: AuthorizedRequest,
  { id, filter }: { readonly id: MessageId; readonly filter: ListenFilter },
): Promise<Response | Failure> {
  const _meta = subscriptionMeta(id);
  const stream = openNotifications(authorized, {
    listener: { session: null, profile: authorized.profile, principal: authorized.principal.id },
    hasMaxAge: true,
    unreadBytes: UNREAD_BYTES,
    filter: async () => filter,
    send: (events, method, params) => {
      events.writeEvent(notification(method, { ...params, _meta }));
    },
    sendFinal: (events) => {
      events.writeEvent(resultResponse(id, JSON.stringify({ ...LISTEN_RESULT, _meta })));
    },
  });
  const started = await startFeed(stream, undefined);
  if (typeof started === "number") return rejectStream(authorized, stream.events, started);
  stream.events.writeEvent(
    notification("notifications/subscriptions/acknowledged", { ...acknowledgedParams(filter), _meta }),
  );
  stream.begin();
  return stream.events.respond();
}

/** Answers a session's GET with its one stream. `from`: the state of an earlier stream, to resume from. */
export async function answerStandalone(
  authorized: AuthorizedRequest,
  session: Session,
  from: FeedState | undefined,
): Promise<Response | Failure> {
  const { sessionStubs } = authorized;
  const stream = openNotifications(authorized, {
    listener: { session: session.nonce, profile: authorized.profile, principal: session.principal },
    hasMaxAge: true,
    unreadBytes: UNREAD_BYTES,
    filter: () => sessionFilter(sessionStubs, session),
    resumable: true,
    send: (events, method, params, id) => {
      events.writeEvent(notification(method, params), id);
    },
    sendFinal: (events) => {
      events.write(`retry: ${RETRY_MS}\n\n`);
    },
  });
  const started = await startFeed(stream, from);
  if (typeof started === "number") return rejectStream(authorized, stream.events, started);
  if (session.revision.sendsPrimingEvent)
    stream.events.writePriming(await eventIdOf(authorized.ring, from ?? started), RETRY_MS);
  stream.begin();
  return stream.events.respond();
}

/** A session is notified of changes to every list, and of the resources that it subscribed to. */
export async function sessionFilter(sessionStubs: SessionStubs, session: Session): ReturnType<FeedHost["filter"]> {
  const uris = await withRetries(() => sessionStubs.sessionObject(session).subscriptions());
  return { tools: true, prompts: true, resources: true, uris: new Map(uris as [string, string][]) };
}

/** Like `ChangeFeed.start`, but ends the stream if the feed cannot start. */
async function startFeed(
  { feed, events }: NotificationStream,
  from: FeedState | undefined,
): ReturnType<ChangeFeed["start"]> {
  try {
    return await feed.start(from);
  } catch (error) {
    events.end();
    throw error;
  }
}

const STREAMS_RETRY_MS = 30_000;

/** Ends a stream that did not begin. `status`: the status of `ChangeFeed.start`. */
export function rejectStream(authorized: AuthorizedRequest, events: EventStream, status: number): Failure {
  events.end();
  if (status === 403) return failure("forbidden");
  if (status === 429) return concurrencyFailure(authorized, "streams", STREAMS_RETRY_MS);
  return { ...failure("unavailable", "Service unavailable: too many streams"), retryAfter: 30 };
}

export interface StreamOptions {
  readonly listener: { readonly session: string | null; readonly profile: string | null; readonly principal: string };
  /** false: the stream lasts as long as its client wants. */
  readonly hasMaxAge: boolean;
  readonly unreadBytes?: number;
  filter: FeedHost["filter"];
  /** Whether each event has an id from which another stream can resume. */
  readonly resumable?: boolean;
  /** `id`: the event's id, if the stream is resumable. */
  send(events: EventStream, method: string, params: Record<string, unknown>, id: string | undefined): void;
  /** Writes the last message before the server ends the stream of its own accord. */
  sendFinal(events: EventStream): void;
  /**
   * The stream is over because its client disconnected or its feed ended. Not called when the stream reaches its
   * maximum age.
   */
  onClose?(): void;
}

export interface NotificationStream {
  readonly events: EventStream;
  readonly feed: ChangeFeed;
  /** Sends the notifications since the feed started, and from now on each at once. */
  begin(): void;
}

export function openNotifications(authorized: AuthorizedRequest, options: StreamOptions): NotificationStream {
  const { sessionStubs } = authorized;
  const since = Date.now();
  let shard = 0;
  const interests = new SourceSubscriptions();
  interests.setSources(authorized.view.sources, authorized);
  const startGate = createStartGate();
  const events = new EventStream({
    keepaliveMs: KEEPALIVE_MS,
    hasMaxAge: options.hasMaxAge,
    clientAddress: authorized.context.clientAddress,
    ...(options.unreadBytes === undefined ? {} : { unreadBytes: options.unreadBytes }),
    onDisconnect: () => {
      feed.close();
      options.onClose?.();
    },
    onMaxAge: () => {
      feed.close();
      options.sendFinal(events);
    },
  });
  const feed: ChangeFeed = new ChangeFeed({
    connect: async (isReconnect) => {
      const owner = await authorized.context.ownerOf(authorized.principal.id);
      // A hub without listeners refuses streams that reconnect.
      if (!isReconnect) shard = sessionStubs.shardFor(options.listener.session);
      return sessionStubs.openHubSocket(shard, {
        ...options.listener,
        since,
        owner,
        most: authorized.limits.streams,
        again: isReconnect,
      });
    },
    listen: (from) => listenSince(authorized, shard, from),
    getAccess: async (revision) => {
      const now = await reauthorizeStream(authorized, revision);
      return now && streamAccessOf(now, interests);
    },
    filter: async () => {
      const filter = await options.filter();
      interests.setFilter({ ...filter, uris: [...filter.uris.keys()] });
      return filter;
    },
    onClose: () => {
      interests.end();
    },
    notify: async (method, params, state) => {
      const id = options.resumable ? await eventIdOf(authorized.ring, state) : undefined;
      startGate.pass(() => {
        options.send(events, method, params, id);
      });
    },
    onEnd: (why) => {
      if (why !== "replaced") options.sendFinal(events);
      events.end();
      options.onClose?.();
    },
  });
  return { events, feed, begin: startGate.open };
}

/** Queues notifications until it is opened, so that they follow the messages with which a stream begins. */
function createStartGate() {
  let queue: (() => void)[] | undefined = [];
  return {
    pass: (send: () => void) => {
      if (queue) queue.push(send);
      else send();
    },
    open: () => {
      for (const send of queue ?? []) send();
      queue = undefined;
    },
  };
}

/** Stands for the changes of content that was deleted with its tenant: the stream authorizes again, and is rejected. */
const TENANT_DELETED: Changes = {
  version: 0,
  updated: [],
  listed: [],
  announced: [],
  policy: true,
  all: true,
  due: false,
};

async function listenSince(
  authorized: AuthorizedRequest,
  shard: number,
  since: ChangeVersions | null,
): Promise<TenantChanges> {
  const [definitions, content] = await Promise.all([
    authorized.sessionStubs.changes().listen(since?.definitions ?? null, shard),
    createChangeClient(authorized.contentStub())
      .listen(since?.content ?? null, shard)
      .catch((error: unknown) => {
        if (error instanceof AppError && error.key === "unknownTenant") return TENANT_DELETED;
        throw error;
      }),
  ]);
  return { definitions, content };
}

async function streamAccessOf(authorized: AuthorizedRequest, interests: SourceSubscriptions): Promise<StreamAccess> {
  const { view, cachedPolicy } = authorized;
  interests.setSources(view.sources, authorized);
  const mayLook = createPatternBudget(view.resourcePatterns);
  return {
    digests: await digestsOf(view),
    leaseMs: cachedPolicy.validUntil - Date.now(),
    canSee: (uri) => view.resourcesByUri.has(uri) || (mayLook(uri) && view.sees(uri)),
  };
}

/** Returns null if the listener is no longer authorized. */
async function reauthorizeStream({ context }: AuthorizedRequest, revision: number): Promise<AuthorizedRequest | null> {
  const authorized = await authorizeRequest(context, { minPolicyRevision: revision });
  if (!isFailure(authorized)) return authorized;
  // An unreachable tenant object has withdrawn nothing: the stream tries again, and sends nothing meanwhile.
  if (authorized.error === "unavailable") throw new AppError("busy");
  return null;
}

const digests = new WeakMap<View, StreamAccess["digests"]>();
const DIGEST_CHARACTERS = 10;

async function digestsOf(view: View): Promise<StreamAccess["digests"]> {
  const cached = digests.get(view);
  if (cached) return cached;
  const digestLists = async (...lists: readonly (readonly { readonly wire: unknown }[])[]) =>
    (await digest(JSON.stringify(lists.map((list) => list.map(({ wire }) => wire))))).slice(0, DIGEST_CHARACTERS);
  const computed = {
    tools: await digestLists(view.tools),
    prompts: await digestLists(view.prompts),
    resources: await digestLists(view.resources, view.templates),
  };
  digests.set(view, computed);
  return computed;
}
