// The sockets that a session object accepted, and how to send to them.

import type { RunnerMessage, ViewerMessage } from "../streams/socket-messages.ts";

export type Attachment =
  /** Shows a stored call to its client. */
  | { readonly as: "viewer"; readonly call: string }
  /** Runs a call. `request`: as `requestKey` makes it. */
  | { readonly as: "runner"; readonly request: string; readonly call: string }
  /** Holds the client's HTTP+SSE stream, and runs its posts. */
  | { readonly as: "holder"; readonly since: number; readonly again: boolean };

/** The open sockets whose attachment matches. */
export type Sockets = (predicate: (attachment: Attachment) => boolean) => WebSocket[];

export function socketsOf(ctx: DurableObjectState): Sockets {
  return (predicate) =>
    ctx.getWebSockets().filter((socket) => socket.readyState === WebSocket.OPEN && predicate(attachmentOf(socket)));
}

export function attachmentOf(socket: WebSocket): Attachment {
  return socket.deserializeAttachment() as Attachment;
}

/** Sending to a closing socket throws. Its other end reconnects. */
export function sendMessage(socket: WebSocket, message: RunnerMessage | ViewerMessage): void {
  try {
    socket.send(JSON.stringify(message));
  } catch {
    socket.close(1011);
  }
}
