// Owns who listens to a tenant: one hibernatable WebSocket for each notification stream, and handing on what changed.
// Keeps nothing but the sockets themselves. Refuses to decide what a stream's view may be told: its holder does.

import { DurableObject } from "cloudflare:workers";
import type { ChangeEvent, HubStub, Withdrawn } from "../tenants/authority/changes.ts";
import { CLOSE, isOutdated, type Listener } from "./wire.ts";

/** Well below Cloudflare's limit of 32,768 sockets for one object. */
export const MAX_STREAMS = 20_000;

export class HubObject extends DurableObject implements HubStub {
  /** How many more streams are let in before they are counted again. Counting visits every socket. */
  #room = 0;

  async ready(): Promise<void> {}

  override async fetch(request: Request): Promise<Response> {
    if (this.#room <= 0) this.#room = MAX_STREAMS - this.ctx.getWebSockets().length;
    if (this.#room <= 0) return new Response("too many streams", { status: 503 });
    const listener = JSON.parse(new URL(request.url).searchParams.get("listener") ?? "{}") as Listener;
    // A session has one standalone stream, the newest; one that comes back late does not replace it.
    if (listener.session !== null) {
      const others = this.ctx.getWebSockets(listener.session).map(listenerOf);
      if (isOutdated(listener, others)) return new Response(null, { status: 410 });
      this.#closeSession(listener.session, CLOSE.replaced);
    }
    const owned = listener.owner === undefined ? [] : [ownerTag(listener.owner)];
    // One that comes back was let in before; its lost socket may still count.
    if (!listener.again && owned[0] !== undefined && this.#countOf(owned[0]) >= (listener.most ?? Infinity)) {
      return new Response("too many streams", { status: 429 });
    }
    this.#room -= 1;
    const { 0: near, 1: far } = new WebSocketPair();
    this.ctx.acceptWebSocket(far, listener.session === null ? owned : [listener.session, ...owned]);
    far.serializeAttachment(listener);
    return new Response(null, { status: 101, webSocket: near });
  }

  /** Hands an event to every stream; resolves to how many there are. */
  async publish(event: ChangeEvent): Promise<number> {
    if (event.close) this.#close(matcherOf(event.close), CLOSE.withdrawn);
    const text = JSON.stringify(event);
    let streams = 0;
    for (const socket of this.ctx.getWebSockets()) {
      if (socket.readyState !== WebSocket.OPEN) continue;
      streams += 1;
      send(socket, text);
    }
    return streams;
  }

  /** The session's subscriptions changed: whoever holds its stream reads them again. */
  async resubscribe(session: string): Promise<void> {
    for (const socket of this.ctx.getWebSockets(session)) send(socket, '{"resubscribe":true}');
  }

  async endSession(session: string): Promise<void> {
    this.#closeSession(session, CLOSE.ended);
  }

  #countOf(tag: string): number {
    return this.ctx.getWebSockets(tag).filter(({ readyState }) => readyState === WebSocket.OPEN).length;
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
