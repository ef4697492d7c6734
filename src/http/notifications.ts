// Owns the notification streams that a client opens: GET with a session in era 2025, subscriptions/listen in era 2026.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

import { digest } from "../auth/seal.ts";
import type { View } from "../content/serve/view.ts";
import { budgetOf } from "../content/store/pattern-work.ts";
import { AppError } from "../protocol/app-error.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { notification, resultResponse, type RequestId } from "../protocol/jsonrpc.ts";
import { Interests } from "../content/serve/interests.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { acknowledged, subscriptionMeta, type ListenFilter } from "../protocol/methods/subscriptions.ts";
import { Feed, type FeedHost, type FeedState, type Heard, type StreamSight } from "../streams/feed.ts";
import type { Versions } from "../streams/pending.ts";
import { persistently } from "../streams/persistently.ts";
import { remoteChanges } from "../tenants/authority/change-calls.ts";
import type { Changes } from "../tenants/authority/changes.ts";
import { eventIdOf } from "./event-ids.ts";
import { EventStream } from "./event-stream.ts";
import { atOnceFailure } from "./limit-messages.ts";
import type { Doors } from "../sessions/doors.ts";
import { enter } from "./enter.ts";
import type { Entered } from "./entered.ts";
import type { Session } from "../sessions/session-id.ts";

/** A client that left is only noticed when something is written to it, and costs a socket until then. */
const KEEPALIVE_MS = 22_000;
const RETRY_MS = 1000;
/** Small, because many streams share an isolate's memory. News of all that one may subscribe to takes half of it. */
const UNREAD_BYTES = 1024 * 1024;
/** The result with which the server ends a `subscriptions/listen`. */
const ENDED = { resultType: "complete" } as const;

/** Answers `subscriptions/listen` with a stream. A failure: nothing was opened. */
export async function answerListen(
  entered: Entered,
  { id, filter }: { readonly id: RequestId; readonly filter: ListenFilter },
): Promise<Response | Failure> {
  const _meta = subscriptionMeta(id);
  const stream = openNotifications(entered, {
    listener: { session: null, profile: entered.profile, principal: entered.principal.id },
    ages: true,
    unreadBytes: UNREAD_BYTES,
    filter: async () => filter,
    tell: (events, method, params) => {
      events.event(notification(method, { ...params, _meta }));
    },
    bye: (events) => {
      events.event(resultResponse(id, JSON.stringify({ ...ENDED, _meta })));
    },
  });
  const started = await startFeed(stream, undefined);
  if (typeof started === "number") return refuse(entered, stream.events, started);
  stream.events.event(notification("notifications/subscriptions/acknowledged", { ...acknowledged(filter), _meta }));
  stream.begin();
  return stream.events.respond();
}

/** Answers a session's GET with its one stream. `from`: what an earlier such stream was told, to go on from there. */
export async function answerStandalone(
  entered: Entered,
  session: Session,
  from: FeedState | undefined,
): Promise<Response | Failure> {
  const { doors } = entered;
  const stream = openNotifications(entered, {
    listener: { session: session.nonce, profile: entered.profile, principal: session.principal },
    ages: true,
    unreadBytes: UNREAD_BYTES,
    filter: () => sessionFilter(doors, session),
    resumable: true,
    tell: (events, method, params, id) => {
      events.event(notification(method, params), id);
    },
    bye: (events) => {
      events.write(`retry: ${RETRY_MS}\n\n`);
    },
  });
  const started = await startFeed(stream, from);
  if (typeof started === "number") return refuse(entered, stream.events, started);
  if (session.dialect.primes) stream.events.prime(await eventIdOf(entered.ring, from ?? started), RETRY_MS);
  stream.begin();
  return stream.events.respond();
}

/** A session is told of every list, and of the resources that it subscribed to. */
export async function sessionFilter(doors: Doors, session: Session): ReturnType<FeedHost["filter"]> {
  const uris = await persistently(() => doors.sessionObject(session).subscriptions());
  return { tools: true, prompts: true, resources: true, uris: new Map(uris as [string, string][]) };
}

/** As `Feed.start`. A stream that cannot begin is none. */
async function startFeed({ feed, events }: NotificationStream, from: FeedState | undefined): ReturnType<Feed["start"]> {
  try {
    return await feed.start(from);
  } catch (error) {
    events.end();
    throw error;
  }
}

const STREAMS_RETRY_MS = 30_000;

/** Ends a stream that did not begin. `status`: what `Feed.start` refused with. */
export function refuse(entered: Entered, events: EventStream, status: number): Failure {
  events.end();
  if (status === 403) return failure("forbidden");
  if (status === 429) return atOnceFailure(entered, "streams", STREAMS_RETRY_MS);
  return { ...failure("unavailable", "Service unavailable: too many streams"), retryAfter: 30 };
}

export interface StreamOptions {
  readonly listener: { readonly session: string | null; readonly profile: string | null; readonly principal: string };
  /** false: it lives as long as its client wants it. */
  readonly ages: boolean;
  readonly unreadBytes?: number;
  filter: FeedHost["filter"];
  /** Whether each event has an id from which another stream can go on. */
  readonly resumable?: boolean;
  /** `id`: of the event, where the stream is resumable. */
  tell(events: EventStream, method: string, params: Record<string, unknown>, id: string | undefined): void;
  /** Said before the server ends the stream of its own accord. */
  bye(events: EventStream): void;
  /** The stream is over because its client left or its feed ended; not called when it reached its age. */
  over?(): void;
}

export interface NotificationStream {
  readonly events: EventStream;
  readonly feed: Feed;
  /** Tells what happened since the feed started, and from now on everything at once. */
  begin(): void;
}

export function openNotifications(entered: Entered, options: StreamOptions): NotificationStream {
  const { doors } = entered;
  const since = Date.now();
  let shard = 0;
  const interests = new Interests();
  interests.at(entered.view.sources, entered);
  const gate = closedGate();
  const events = new EventStream({
    keepaliveMs: KEEPALIVE_MS,
    ages: options.ages,
    holder: entered.visit.address,
    ...(options.unreadBytes === undefined ? {} : { unreadBytes: options.unreadBytes }),
    gone: () => {
      feed.close();
      options.over?.();
    },
    aged: () => {
      feed.close();
      options.bye(events);
    },
  });
  const feed: Feed = new Feed({
    connect: async (again) => {
      const owner = await entered.visit.ownerOf(entered.principal.id);
      shard = doors.shardFor(options.listener.session);
      return doors.listenAt(shard, { ...options.listener, since, owner, most: entered.limits.streams, again });
    },
    listen: (from) => heardSince(entered, shard, from),
    look: async (revision) => {
      const now = await look(entered, revision);
      return now && sightOf(now, interests);
    },
    filter: async () => {
      const filter = await options.filter();
      interests.want({ ...filter, uris: [...filter.uris.keys()] });
      return filter;
    },
    closed: () => {
      interests.end();
    },
    tell: async (method, params, state) => {
      const id = options.resumable ? await eventIdOf(entered.ring, state) : undefined;
      gate.pass(() => {
        options.tell(events, method, params, id);
      });
    },
    ended: (why) => {
      if (why !== "replaced") options.bye(events);
      events.end();
      options.over?.();
    },
  });
  return { events, feed, begin: gate.open };
}

/** What happens before it is opened waits, so that it comes after the messages with which a stream begins. */
function closedGate() {
  let early: (() => void)[] | undefined = [];
  return {
    pass: (say: () => void) => {
      if (early) early.push(say);
      else say();
    },
    open: () => {
      for (const say of early ?? []) say();
      early = undefined;
    },
  };
}

/** What a stream is told of content that is gone with its tenant: it has to look again, and is not let in. */
const GONE: Changes = { version: 0, updated: [], listed: [], announced: [], policy: true, all: true, due: false };

async function heardSince(entered: Entered, shard: number, since: Versions | null): Promise<Heard> {
  const [definitions, content] = await Promise.all([
    entered.doors.changes().listen(since?.definitions ?? null, shard),
    remoteChanges(entered.contentStub())
      .listen(since?.content ?? null, shard)
      .catch((error: unknown) => {
        if (error instanceof AppError && error.key === "unknownTenant") return GONE;
        throw error;
      }),
  ]);
  return { definitions, content };
}

async function sightOf(entered: Entered, interests: Interests): Promise<StreamSight> {
  const { view, snapshot } = entered;
  interests.at(view.sources, entered);
  const mayLook = budgetOf(view.only);
  return {
    digests: await digestsOf(view),
    leaseMs: snapshot.validUntil - Date.now(),
    sees: (uri) => view.resourcesByUri.has(uri) || (mayLook(uri) && view.sees(uri)),
  };
}

/** null: whoever listens is not let in any more. */
async function look({ visit }: Entered, revision: number): Promise<Entered | null> {
  const entered = await enter(visit, { revision });
  if (!isFailure(entered)) return entered;
  // An authority that cannot be reached has withdrawn nothing: the stream tries again, and tells nothing meanwhile.
  if (entered.error === "unavailable") throw new AppError("busy");
  return null;
}

const digests = new WeakMap<View, StreamSight["digests"]>();
const DIGEST_CHARACTERS = 10;

async function digestsOf(view: View): Promise<StreamSight["digests"]> {
  const known = digests.get(view);
  if (known) return known;
  const of = async (...lists: readonly (readonly { readonly wire: unknown }[])[]) =>
    (await digest(JSON.stringify(lists.map((list) => list.map(({ wire }) => wire))))).slice(0, DIGEST_CHARACTERS);
  const made = {
    tools: await of(view.tools),
    prompts: await of(view.prompts),
    resources: await of(view.resources, view.templates),
  };
  digests.set(view, made);
  return made;
}
