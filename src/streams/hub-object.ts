// Owns who listens to a tenant: one hibernatable WebSocket for each notification stream, and handing on what changed.
// Refuses to decide what a stream's view may be told: its holder does.

import { DurableObject } from "cloudflare:workers";
import type { ChangeEvent, HubStub, Withdrawn } from "../tenants/authority/changes.ts";
import { HELLO } from "./held-socket.ts";
import { HubMemory } from "./hub-memory.ts";
import type { Versions } from "./pending.ts";
import { CLOSE, isFinal, isOutdated, type Hello, type Listener } from "./wire.ts";

/** Well below Cloudflare's limit of 32,768 sockets for one object. */
export const MAX_STREAMS = 20_000;

export class HubObject extends DurableObject implements HubStub {
  /** How many more streams are let in before they are counted again. Counting visits every socket. */
  #room = 0;
  readonly #memory: HubMemory;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.#memory = new HubMemory(ctx.storage.kv, ctx.getWebSockets().length, () => Date.now());
  }

  async ready(): Promise<void> {}

  override async fetch(request: Request): Promise<Response> {
    if (this.#room <= 0) this.#room = MAX_STREAMS - this.ctx.getWebSockets().length;
    if (this.#room <= 0) return new Response("too many streams", { status: 503 });
    const listener = JSON.parse(new URL(request.url).searchParams.get("listener") ?? "{}") as Listener;
    // A session has one standalone stream, the newest.
    if (listener.session !== null) {
      if (this.#isLate(listener)) return new Response(null, { status: 410 });
      this.#closeSession(listener.session, CLOSE.replaced);
    }
    const owned = listener.owner === undefined ? [] : [ownerTag(listener.owner)];
    // One that comes back was let in before; its lost socket may still count.
    if (!listener.again && owned[0] !== undefined && this.#open(owned[0]).length >= (listener.most ?? Infinity)) {
      return new Response("too many streams", { status: 429 });
    }
    this.#room -= 1;
    const { 0: near, 1: far } = new WebSocketPair();
    this.ctx.acceptWebSocket(far, listener.session === null ? owned : [listener.session, ...owned]);
    far.serializeAttachment(listener);
    const hello = JSON.stringify(this.#greet(listener));
    return new Response(null, { status: 101, webSocket: near, headers: { [HELLO]: hello } });
  }

  /** One that comes back late does not replace a newer one, and not before an end. */
  #isLate(listener: Listener): boolean {
    const others = this.ctx.getWebSockets(listener.session ?? "").map(listenerOf);
    return isOutdated(listener, others) || (listener.again === true && this.#memory.isOver(listener.session));
  }

  #greet({ session }: Listener): Hello {
    const { grew, ...hello } = this.#memory.join(session, MAX_STREAMS - this.#room, () => this.#open().length);
    if (grew) this.#count(hello.streams);
    return hello;
  }

  /** What a stream heard from those who keep the logs. One that is closing may be out of their count. */
  override async webSocketMessage(socket: WebSocket, text: string | ArrayBuffer): Promise<void> {
    if (typeof text !== "string" || socket.readyState !== WebSocket.OPEN) return;
    this.#memory.learn(JSON.parse(text) as Versions);
  }

  override async webSocketClose(_socket: WebSocket, code: number): Promise<void> {
    if (code !== 1000 && !isFinal(code)) this.#memory.lost();
  }

  override async webSocketError(): Promise<void> {
    this.#memory.lost();
  }

  /** For how many milliseconds yet streams may be away that were not told what was published. */
  async away(): Promise<number> {
    return this.#memory.owed;
  }

  /** Hands an event to every stream; resolves to how many there are, 1 at least where some are expected back. */
  async publish(event: ChangeEvent): Promise<number> {
    if (event.close) this.#close(matcherOf(event.close), CLOSE.withdrawn);
    const text = JSON.stringify(event);
    const open = this.#open();
    for (const socket of open) send(socket, text);
    return this.#memory.told(event, open.length);
  }

  #open(tag?: string): WebSocket[] {
    return this.ctx.getWebSockets(tag).filter(({ readyState }) => readyState === WebSocket.OPEN);
  }

  #count(streams: number): void {
    const text = JSON.stringify({ streams });
    for (const socket of this.#open()) if (listenerOf(socket).counts) send(socket, text);
  }

  /** The session's subscriptions changed: whoever holds its stream reads them again. false: it is not here. */
  async resubscribe(session: string): Promise<boolean> {
    const open = this.#open(session);
    for (const socket of open) send(socket, '{"resubscribe":true}');
    if (open.length === 0) this.#memory.missed(session, "changed");
    return open.length > 0;
  }

  /** false: its stream is not here. */
  async endSession(session: string): Promise<boolean> {
    const isHere = this.#open(session).length > 0;
    this.#closeSession(session, CLOSE.ended);
    this.#memory.missed(session, "ended");
    return isHere;
  }

  /** Finds the sockets by their tag, so the number of other streams does not matter. */
  #closeSession(session: string, code: number): void {
    for (const socket of this.ctx.getWebSockets(session)) socket.close(code);
  }

  #close(matches: (listener: Listener) => boolean, code: number): void {
    for (const socket of this.ctx.getWebSockets()) {
      if (matches(listenerOf(socket))) socket.close(code);
    }
  }
}

const TAG_CHARACTERS = 256;

/** No session's nonce has a space in it. */
function ownerTag(owner: string): string {
  return `of ${owner}`.slice(0, TAG_CHARACTERS);
}

function listenerOf(socket: WebSocket): Listener {
  return socket.deserializeAttachment() as Listener;
}

/** Sending to a closing socket throws. Its holder comes back and asks for what it missed. */
function send(socket: WebSocket, text: string): void {
  try {
    socket.send(text);
  } catch {
    socket.close(1011);
  }
}

function matcherOf({ principal, profile }: Withdrawn): (listener: Listener) => boolean {
  return (listener) =>
    (principal === undefined || listener.principal === principal) &&
    (profile === undefined || listener.profile === profile);
}
