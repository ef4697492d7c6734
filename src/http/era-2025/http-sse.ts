// Owns the stream of the HTTP+SSE transport of 2024-11-05: which session it is, the endpoint it names, what it tells,
// and where it goes on when a client comes back. It ends seldom: some clients do not say where they were.
// https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse

import { digest } from "../../auth/seal.ts";
import { dialect2025, DIALECTS } from "../../protocol/era.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import { notification } from "../../protocol/jsonrpc.ts";
import { HeldSocket } from "../../streams/held-socket.ts";
import type { FeedState } from "../../streams/feed.ts";
import { openSessionSocket } from "../../sessions/session-door.ts";
import { persistently } from "../../streams/persistently.ts";
import type { Holding } from "../../sessions/session-object.ts";
import type { RunnerMessage } from "../../streams/wire.ts";
import { findSession, ownerOf } from "../../sessions/find-session.ts";
import type { Entered } from "../entered.ts";
import { publicUrl } from "../../deployment/mount.ts";
import { Holder } from "./holder.ts";
import { eventIdOf, stateOf } from "../event-ids.ts";
import { openNotifications, refuse, sessionFilter } from "../notifications.ts";
import { UNAVAILABLE } from "./posted.ts";
import { mintSession, type Session } from "../../sessions/session-id.ts";

const RETRY_MS = 1000;
/** How often it is looked whether its invocation did enough, and after how many looks it is too old. */
const LOOK_MS = 30 * 60_000;
const OLD_AFTER = 12;
const STREAM_NAME = /^[\w.~-]{16,64}$/;
/** How many stored calls an event id names: as many as a session's object stores. */
const MAX_SHOWN = 50;
/** Where a stream is of which nothing is known: the digests match no list, so every list is told. */
const NOTHING_TOLD: FeedState = {
  versions: { definitions: 0, content: 0 },
  digests: { tools: "", prompts: "", resources: "" },
};

const NO_STREAM = failure("invalidRequest", "Invalid Request: Last-Event-ID names no stream of this transport");

/** Where a stream was: what its lists looked like, and which event of each stored call was the last. */
interface Position {
  readonly state: FeedState;
  readonly shown: ReadonlyMap<string, number>;
}

export async function holdStream(entered: Entered): Promise<Response | Failure> {
  try {
    const found = await sessionOf(entered);
    return isSession(found) ? await new HeldStream(entered, found).open() : found;
  } catch (error) {
    entered.onError(error);
    return UNAVAILABLE;
  }
}

interface FoundStream {
  readonly id: string;
  readonly session: Session;
  readonly position: Position | undefined;
}

function isSession(found: FoundStream | Failure): found is FoundStream {
  return "session" in found;
}

async function sessionOf(entered: Entered): Promise<FoundStream | Failure> {
  const { headers, url } = entered.visit.request;
  const { searchParams } = new URL(url);
  const name = searchParams.get("stream");
  if (name !== null && !STREAM_NAME.test(name)) {
    return failure("invalidRequest", "Invalid Request: stream must have 16 to 64 letters, digits or -._~");
  }
  const last = headers.get("last-event-id");
  if (last !== null) return streamAt(entered, last);
  const id = searchParams.get("sessionId") ?? (await newSession(entered, name));
  const session = await findSession(entered, id);
  return session ? { id, session, position: undefined } : failure("sessionNotFound");
}

/** First its session is looked for: of another tenant's, no state can be read either. */
async function streamAt(entered: Entered, eventId: string): Promise<FoundStream | Failure> {
  const place = placeOf(eventId);
  if (!place) return NO_STREAM;
  const { id, told, shown } = place;
  const session = await findSession(entered, id);
  if (!session) return failure("sessionNotFound");
  const state = await stateOf(entered.ring, told);
  return state ? { id, session, position: { state, shown } } : NO_STREAM;
}

/** `name`: a secret of clients that send no Last-Event-ID, which names the same session each time; null: a new one. */
async function newSession(entered: Entered, name: string | null): Promise<string> {
  const owner = ownerOf(entered);
  const dialect =
    dialect2025(entered.visit.request.headers.get("mcp-protocol-version") ?? "") ?? DIALECTS["2024-11-05"];
  const nonce =
    name === null ? undefined : await digest(JSON.stringify(["stream", owner.profile, owner.principal, name]));
  return mintSession(owner, { dialect, unofficial: false, answered: dialect.revision }, {}, { nonce });
}

interface Place {
  readonly id: string;
  /** The event id of the last notification. */
  readonly told: string;
  readonly shown: Position["shown"];
}

function placeOf(eventId: string): Place | undefined {
  const [, id, told, calls = ""] = /^([\w.-]{1,512})~(n\.[\w.-]+)~([\w,-]*)$/.exec(eventId) ?? [];
  if (id === undefined || told === undefined) return undefined;
  const shown = [...calls.matchAll(/([0-9a-f]{16})-(\d{1,9})/g)].map(
    ([, key = "", seq]) => [key, Number(seq)] as const,
  );
  return { id, told, shown: new Map(shown.slice(-MAX_SHOWN)) };
}

class HeldStream {
  readonly #entered: Entered;
  readonly #found: FoundStream;
  /** The last event of each stored call that was written, for the event ids; those written last come last. */
  readonly #shown: Map<string, number>;
  /** The last event of each call that waits to be written: event ids must not name it yet, and no viewer repeats it. */
  readonly #heard = new Map<string, number>();
  readonly #stream: ReturnType<typeof openNotifications>;
  readonly #holder: Holder;
  readonly #socket: HeldSocket;
  #looks = 0;
  /** Not all at once where many began together. */
  readonly #age = setInterval(
    () => {
      this.#looks += 1;
      this.#whenBegun(() => {
        this.#holder.rest(this.#looks >= OLD_AFTER);
      });
    },
    LOOK_MS * (0.9 + 0.2 * Math.random()),
  );
  /** The id of the last notification, or of the place where the stream began. */
  #told = "";
  /** What came before the stream began. Until then its endpoint, and what `initialize` agreed on, are not known. */
  #early: (() => void)[] | undefined = [];

  constructor(entered: Entered, found: FoundStream) {
    const { session, position } = found;
    this.#entered = entered;
    this.#found = found;
    this.#shown = new Map(position?.shown);
    this.#stream = openNotifications(entered, {
      listener: { session: session.nonce, profile: entered.profile, principal: session.principal },
      ages: false,
      filter: () => sessionFilter(entered.doors, session),
      resumable: true,
      tell: (events, method, params, id = "") => {
        this.#told = id;
        events.event(notification(method, params), this.#eventId());
      },
      bye: () => {},
      over: () => {
        this.#over();
      },
    });
    const { events } = this.#stream;
    this.#holder = new Holder(
      {
        entered,
        events,
        shown: (key, seq, json) => {
          this.#heard.set(key, seq);
          void events.inTurn(json.length, () => {
            if (this.#heard.get(key) === seq) this.#heard.delete(key);
            this.#note(key, seq);
            events.event(json, this.#eventId());
          });
        },
        taken: (post) => {
          this.#socket.send(post);
        },
        lost: () => {
          this.#over();
        },
      },
      session,
    );
    const since = Date.now();
    const open = (again: boolean) =>
      openSessionSocket(entered.doors.sessionObject(session), { as: "holder", since, again });
    this.#socket = new HeldSocket(open, {
      message: (message) => {
        this.#whenBegun(() => {
          this.#hear(message as RunnerMessage);
        });
      },
      reopened: () => {
        this.#whenBegun(() => {
          this.#catchUp();
        });
      },
      // Replaced by a newer stream, or the session is over.
      ended: () => {
        this.#over();
      },
    });
  }

  async open(): Promise<Response | Failure> {
    try {
      return await this.#begin();
    } catch (error) {
      this.#over();
      throw error;
    }
  }

  #over(): void {
    clearInterval(this.#age);
    this.#stream.feed.close();
    this.#stream.events.end();
    this.#socket.close();
    this.#holder.leave();
  }

  #whenBegun(work: () => void): void {
    if (this.#early) this.#early.push(work);
    else work();
  }

  #hear(message: RunnerMessage): void {
    if ("stored" in message) void this.#holder.show(message.stored, this.#placeIn(message.stored));
    if ("posted" in message) this.#holder.take(message);
  }

  #placeIn(key: string): number {
    return this.#heard.get(key) ?? this.#shown.get(key) ?? 0;
  }

  /** Shows the calls that were stored while the socket was lost. */
  #catchUp(): void {
    this.#holding()
      .then(({ calls }) => {
        for (const { key, from } of calls) {
          const shown = this.#placeIn(key);
          if (shown <= from) void this.#holder.show(key, shown);
        }
      })
      .catch((error: unknown) => {
        this.#entered.onError(error);
      });
  }

  #holding(): Promise<Holding> {
    return persistently(async () => this.#entered.doors.sessionObject(this.#found.session).holding());
  }

  async #begin(): Promise<Response | Failure> {
    const { position } = this.#found;
    const { events, feed } = this.#stream;
    await persistently(() => this.#socket.start());
    const { agreed, calls } = await this.#holding();
    if (agreed !== null) this.#holder.recall(agreed);
    const started = await feed.start(position?.state ?? (agreed === null ? undefined : NOTHING_TOLD));
    if (typeof started === "number") {
      this.#over();
      return refuse(this.#entered, events, started);
    }
    this.#told = await eventIdOf(this.#entered.ring, started);
    events.write(`retry: ${RETRY_MS}\nid: ${this.#eventId()}\nevent: endpoint\ndata: ${this.#endpoint()}\n\n`);
    // A client that says where it was is shown what follows. For one that does not, all up to `from` counts as shown.
    for (const { key, from } of calls) if (!position) this.#note(key, from);
    await Promise.all(calls.map(({ key }) => this.#holder.show(key, this.#shown.get(key) ?? 0)));
    this.#stream.begin();
    for (const work of this.#early ?? []) work();
    this.#early = undefined;
    return events.respond();
  }

  /** The path and query to post to: this request's own, with the session added. */
  #endpoint(): string {
    const { request, deployment } = this.#entered.visit;
    const url = publicUrl(request, deployment.path);
    url.searchParams.delete("stream");
    url.searchParams.set("sessionId", this.#found.id);
    return `${url.pathname}${url.search}`;
  }

  #note(key: string, seq: number): void {
    this.#shown.delete(key);
    this.#shown.set(key, seq);
    // Calls that are no longer shown are forgotten first: a forgotten one would be shown from its beginning again.
    const oldest = [...this.#shown.keys()].find((one) => !this.#holder.shows(one));
    if (this.#shown.size > MAX_SHOWN && oldest !== undefined) this.#shown.delete(oldest);
  }

  #eventId(): string {
    const shown = [...this.#shown].map(([key, seq]) => `${key}-${seq}`).join(",");
    return `${this.#found.id}~${this.#told}~${shown}`;
  }
}
