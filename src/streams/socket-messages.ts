// The messages on sockets between a Worker that holds a stream and the objects that feed it.

import type { ChangeEvent } from "../tenants/object/changes.ts";

/** Why an object closes a socket. After any other close the socket is reopened. */
export const CLOSE = {
  /** A newer stream of the same session replaced this one. */
  replaced: 4000,
  /** The listener is no longer admitted. */
  withdrawn: 4001,
  /** The session, or the call, has ended. */
  ended: 4002,
  /** Sent by a run that stops to wait for its client. The answer will start another run. */
  parked: 4003,
} as const;

export function isFinalClose(code: number): boolean {
  return code >= 4000 && code < 5000;
}

export interface Listener {
  /** The nonce of a 2025 session; null for a stream of era 2026. */
  readonly session: string | null;
  readonly profile: string | null;
  readonly principal: string;
  /** When the stream started, in milliseconds since the epoch, by the holder's clock. */
  readonly since?: number;
  /** The owner whose streams are counted, and how many it may have; absent: not counted. */
  readonly owner?: string;
  readonly most?: number;
  /** Whether the stream reconnects after its socket was lost. */
  readonly again?: boolean;
}

/** Whether a reconnecting stream was replaced by a newer one of its session. */
export function isOutdated(
  { since = 0, again = false }: Pick<Listener, "since" | "again">,
  others: readonly Pick<Listener, "since">[],
): boolean {
  return again && others.some((other) => (other.since ?? 0) > since);
}

/** From the hub to the holder of a notification stream. */
export type HubMessage = ChangeEvent | { readonly resubscribe: true };

/**
 * From the session object to a viewer of a call. A long event is split into parts, because messages are limited in
 * size.
 */
export type ViewerMessage =
  | { readonly seq: number; readonly part: string; readonly last: boolean }
  | { readonly over: true };

/** From the session object to the runner of a call, or the holder of an HTTP+SSE stream. */
export type RunnerMessage =
  | { readonly cancel: true }
  /** A question was answered: fetch the answers. */
  | { readonly answered: true }
  /** The client reported progress on a question. `params`: JSON of its progress, total and message. */
  | { readonly progress: { readonly id: string; readonly params: string } }
  /** The client's post. `id` identifies it, because it may be delivered twice. */
  | { readonly posted: string; readonly id: string }
  /** For holders only: the call with this key was just stored, and no connection shows it yet. */
  | { readonly stored: string };
