// Owns what travels on the sockets between a Worker that holds a stream and the objects that feed it.

import type { ChangeEvent } from "../tenants/object/changes.ts";

/** Why an object closes a socket; any other end is an accident, and the socket is opened again. */
export const CLOSE = {
  /** A newer stream of the same session took its place. */
  replaced: 4000,
  /** Whoever listened is no longer admitted. */
  withdrawn: 4001,
  /** The session, or the call, is over. */
  ended: 4002,
  /** Sent by a run that stops while it waits for its client: the answer will start another run. */
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
  /** When the stream began: milliseconds since the epoch, by the clock of whoever holds it. */
  readonly since?: number;
  /** Whose streams are counted, and how many there may be; absent: of nobody. */
  readonly owner?: string;
  readonly most?: number;
  /** Whether the stream comes back after its socket was lost. */
  readonly again?: boolean;
}

/** Whether a stream that comes back finds a newer one of its session in its place. */
export function isOutdated(
  { since = 0, again = false }: Pick<Listener, "since" | "again">,
  others: readonly Pick<Listener, "since">[],
): boolean {
  return again && others.some((other) => (other.since ?? 0) > since);
}

/** From the hub to whoever holds a notification stream. */
export type HubMessage = ChangeEvent | { readonly resubscribe: true };

/** From the session's object to whoever views a call. A long event comes in parts, because messages are limited. */
export type ViewerMessage =
  | { readonly seq: number; readonly part: string; readonly last: boolean }
  | { readonly over: true };

/** From the session's object to whoever runs a call, or holds an HTTP+SSE stream. */
export type RunnerMessage =
  | { readonly cancel: true }
  /** A question was answered: ask again for what is known. */
  | { readonly answered: true }
  /** The client reported progress on a question. `params`: JSON of its progress, total and message. */
  | { readonly progress: { readonly id: string; readonly params: string } }
  /** What the client posted. `id` names the post, which may be delivered twice. */
  | { readonly posted: string; readonly id: string }
  /** To the holder alone: the call with this key was just stored, and nobody shows it yet. */
  | { readonly stored: string };
