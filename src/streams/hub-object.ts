// The listeners of a tenant: one hibernatable WebSocket for each notification stream, to which the hub forwards
// changes. The holder of each stream decides what its view may see. The hub does not store what it sent: a stream that
// reconnects tells its client to list again.

import { DurableObject } from "cloudflare:workers";
import type { ChangeEvent, HubStub, RevocationFilter } from "../tenants/object/changes.ts";
import { isUnexpired } from "../tenants/cache/is-unexpired.ts";
import { CLOSE, isFinalClose, isOutdated, type Listener } from "./socket-messages.ts";

/** Well below Cloudflare's limit of 32,768 sockets for one object. */
export const MAX_STREAMS = 20_000;
/** How long a stream that lost its socket is expected to reconnect. */
const RECONNECT_WINDOW_MS = 10_000;
/** Stored while there are streams. If it is set and there are no sockets, the hub was reset. */
const LISTENED_KEY = "listened";

/** Durable Object: sends change notifications to the streams of a tenant. */
export class HubObject extends DurableObject implements HubStub {
  /** How many more streams are accepted before they are counted again. Counting reads every socket. */
  #freeSlots = 0;
  /** Until when streams may reconnect, in milliseconds since the epoch. */
  #reconnectUntil = 0;
  /** The same, but after a reset only. A client that loses its stream again and again must not delay revocations. */
  readonly #resetUntil: number;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    // Hibernation keeps sockets, a reset does not.
    if (ctx.getWebSockets().length === 0 && this.#hasListeners) this.#expectReconnects();
    this.#resetUntil = this.#reconnectUntil;
  }

  get #hasListeners(): boolean {
    return this.ctx.storage.kv.get(LISTENED_KEY) === true;
  }

  #expectReconnects(): void {
    this.#reconnectUntil = Date.now() + RECONNECT_WINDOW_MS;
  }

  async ready(): Promise<void> {}

  override async fetch(request: Request): Promise<Response> {
    if (this.#freeSlots <= 0) this.#freeSlots = MAX_STREAMS - this.ctx.getWebSockets().length;
    if (this.#freeSlots <= 0) return new Response("too many streams", { status: 503 });
    const listener = JSON.parse(new URL(request.url).searchParams.get("listener") ?? "{}") as Listener;
    // The senders were told that there are no streams, and send nothing any more. So the client must start anew.
    if (listener.again && !this.#hasListeners) return new Response(null, { status: 410 });
    // A session has one standalone stream, the newest.
    if (listener.session !== null) {
      const others = this.ctx.getWebSockets(listener.session).map(listenerOf);
      if (isOutdated(listener, others)) return new Response(null, { status: 410 });
      this.#closeSession(listener.session, CLOSE.replaced);
    }
    const ownerTags = listener.owner === undefined ? [] : [ownerTag(listener.owner)];
    // A reconnecting stream was admitted before, and its lost socket may still count.
    if (
      !listener.again &&
      ownerTags[0] !== undefined &&
      this.#openSockets(ownerTags[0]).length >= (listener.most ?? Infinity)
    ) {
      return new Response("too many streams", { status: 429 });
    }
    this.#freeSlots -= 1;
    if (!this.#hasListeners) this.ctx.storage.kv.put(LISTENED_KEY, true);
    const { 0: near, 1: far } = new WebSocketPair();
    this.ctx.acceptWebSocket(far, listener.session === null ? ownerTags : [listener.session, ...ownerTags]);
    far.serializeAttachment(listener);
    return new Response(null, { status: 101, webSocket: near });
  }

  override async webSocketClose(_socket: WebSocket, code: number): Promise<void> {
    if (code !== 1000 && !isFinalClose(code)) this.#expectReconnects();
  }

  override async webSocketError(): Promise<void> {
    this.#expectReconnects();
  }

  /** For how many milliseconds streams that a reset cut off may still reconnect. */
  async reconnectWindowMs(): Promise<number> {
    const now = Date.now();
    return isUnexpired(this.#resetUntil, RECONNECT_WINDOW_MS, now) ? this.#resetUntil - now : 0;
  }

  /**
   * Sends an event to every stream. Resolves to the number of streams, at least 1 if some are expected to reconnect.
   */
  async publish(event: ChangeEvent): Promise<number> {
    if (event.close) this.#closeMatching(listenerFilter(event.close), CLOSE.withdrawn);
    const text = JSON.stringify(event);
    const open = this.#openSockets();
    for (const socket of open) sendText(socket, text);
    if (open.length > 0) return open.length;
    // Sockets that are lost, but whose close event has not arrived: their streams may reconnect.
    if (this.ctx.getWebSockets().some((socket) => !listenerOf(socket).isOver)) this.#expectReconnects();
    if (isUnexpired(this.#reconnectUntil, RECONNECT_WINDOW_MS, Date.now())) return 1;
    this.ctx.storage.kv.delete(LISTENED_KEY);
    return 0;
  }

  #openSockets(tag?: string): WebSocket[] {
    return this.ctx.getWebSockets(tag).filter(({ readyState }) => readyState === WebSocket.OPEN);
  }

  /**
   * The session's subscriptions changed, so the holder of its stream reads them again. false: the stream is not here.
   */
  async resubscribe(session: string): Promise<boolean> {
    const open = this.#openSockets(session);
    for (const socket of open) sendText(socket, '{"resubscribe":true}');
    return open.length > 0;
  }

  /** false: the session's stream is not here. */
  async endSession(session: string): Promise<boolean> {
    const isHere = this.#openSockets(session).length > 0;
    this.#closeSession(session, CLOSE.ended);
    return isHere;
  }

  /** Finds the sockets by their tag, so the number of other streams does not matter. */
  #closeSession(session: string, code: number): void {
    for (const socket of this.ctx.getWebSockets(session)) endSocket(socket, code);
  }

  #closeMatching(matches: (listener: Listener) => boolean, code: number): void {
    for (const socket of this.ctx.getWebSockets()) {
      if (matches(listenerOf(socket))) endSocket(socket, code);
    }
  }
}

const TAG_CHARACTERS = 256;

/** A session's nonce contains no space, so an owner tag never equals one. */
function ownerTag(owner: string): string {
  return `of ${owner}`.slice(0, TAG_CHARACTERS);
}

/** `isOver`: the stream does not reconnect. */
type AttachedListener = Listener & { readonly isOver?: true };

function listenerOf(socket: WebSocket): AttachedListener {
  return socket.deserializeAttachment() as AttachedListener;
}

function endSocket(socket: WebSocket, code: number): void {
  socket.serializeAttachment({ ...listenerOf(socket), isOver: true } satisfies AttachedListener);
  socket.close(code);
}

/** Sending to a closing socket throws. Its holder reconnects. */
function sendText(socket: WebSocket, text: string): void {
  try {
    socket.send(text);
  } catch {
    socket.close(1011);
  }
}

function listenerFilter({ principal, profile }: RevocationFilter): (listener: Listener) => boolean {
  return (listener) =>
    (principal === undefined || listener.principal === principal) &&
    (profile === undefined || listener.profile === profile);
}
