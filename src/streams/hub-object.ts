// Owns who listens to a tenant: one hibernatable WebSocket for each notification stream, and handing on what changed.
// Refuses to decide what a stream's view may be told: its holder does. It does not remember what it sent: a stream that comes
// back tells its client to list again.

import { DurableObject } from "cloudflare:workers";
import type { ChangeEvent, HubStub, RevocationFilter } from "../tenants/object/changes.ts";
import { isUnexpired } from "../tenants/cache/is-unexpired.ts";
import { CLOSE, isFinalClose, isOutdated, type Listener } from "./socket-messages.ts";

/** Well below Cloudflare's limit of 32,768 sockets for one object. */
export const MAX_STREAMS = 20_000;
/** How long a stream that lost its socket is expected back. */
const RECONNECT_WINDOW_MS = 10_000;
/** Stored while there are streams: with it and without sockets, the hub was reset. */
const LISTENED_KEY = "listened";

export class HubObject extends DurableObject implements HubStub {
  /** How many more streams are let in before they are counted again. Counting visits every socket. */
  #freeSlots = 0;
  /** Until then streams may come back, milliseconds since the epoch. */
  #reconnectUntil = 0;
  /** The same, after a reset alone: a client that loses its stream again and again must not delay withdrawals. */
  readonly #resetUntil: number;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    // Hibernation leaves sockets, a reset does not.
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
    // Its senders were told that there are no streams, and send nothing any more: its client begins anew.
    if (listener.again && !this.#hasListeners) return new Response(null, { status: 410 });
    // A session has one standalone stream, the newest.
    if (listener.session !== null) {
      const others = this.ctx.getWebSockets(listener.session).map(listenerOf);
      if (isOutdated(listener, others)) return new Response(null, { status: 410 });
      this.#closeSession(listener.session, CLOSE.replaced);
    }
    const ownerTags = listener.owner === undefined ? [] : [ownerTag(listener.owner)];
    // One that comes back was let in before; its lost socket may still count.
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

  /** For how many milliseconds yet streams may be away that a reset cut off. */
  async reconnectWindowMs(): Promise<number> {
    const now = Date.now();
    return isUnexpired(this.#resetUntil, RECONNECT_WINDOW_MS, now) ? this.#resetUntil - now : 0;
  }

  /** Hands an event to every stream; resolves to how many there are, 1 at least where some are expected back. */
  async publish(event: ChangeEvent): Promise<number> {
    if (event.close) this.#closeMatching(listenerFilter(event.close), CLOSE.withdrawn);
    const text = JSON.stringify(event);
    const open = this.#openSockets();
    for (const socket of open) sendText(socket, text);
    if (open.length > 0) return open.length;
    // Sockets that are lost, and whose ends are not heard of yet: their streams may come back.
    if (this.ctx.getWebSockets().some((socket) => !listenerOf(socket).isOver)) this.#expectReconnects();
    if (isUnexpired(this.#reconnectUntil, RECONNECT_WINDOW_MS, Date.now())) return 1;
    this.ctx.storage.kv.delete(LISTENED_KEY);
    return 0;
  }

  #openSockets(tag?: string): WebSocket[] {
    return this.ctx.getWebSockets(tag).filter(({ readyState }) => readyState === WebSocket.OPEN);
  }

  /** The session's subscriptions changed: whoever holds its stream reads them again. false: it is not here. */
  async resubscribe(session: string): Promise<boolean> {
    const open = this.#openSockets(session);
    for (const socket of open) sendText(socket, '{"resubscribe":true}');
    return open.length > 0;
  }

  /** false: its stream is not here. */
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

/** No session's nonce has a space in it. */
function ownerTag(owner: string): string {
  return `of ${owner}`.slice(0, TAG_CHARACTERS);
}

/** `isOver`: its stream does not come back. */
type AttachedListener = Listener & { readonly isOver?: true };

function listenerOf(socket: WebSocket): AttachedListener {
  return socket.deserializeAttachment() as AttachedListener;
}

function endSocket(socket: WebSocket, code: number): void {
  socket.serializeAttachment({ ...listenerOf(socket), isOver: true } satisfies AttachedListener);
  socket.close(code);
}

/** Sending to a closing socket throws. Its holder comes back. */
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
