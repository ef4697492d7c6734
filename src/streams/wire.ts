// Owns what travels on the sockets between a Worker that holds a stream and the objects that feed it.

import type { ChangeEvent } from "../tenants/authority/changes.ts";

/** Why an object closes a socket; any other end is an accident, and the socket is opened again. */
export const CLOSE = {
  /** A newer stream of the same session took its place. */
  replaced: 4000,
  /** Who listened may do so no more. */
  withdrawn: 4001,
  /** The session, or the call, is over. */
  ended: 4002,
  /** Said by a run: it leaves the answer of its client to another run. */
  parked: 4003,
} as const;

export function isFinal(code: number): boolean {
  return code >= 4000 && code < 5000;
}

export interface Listener {
  /** The nonce of a 2025 session; null for a stream of era 2026. */
  readonly session: string | null;
  readonly profile: string | null;
  readonly principal: string;
  /** When the stream began, by the clock of who holds it. */
  readonly since?: number;
  /** It was lost and comes again. */
  readonly again?: boolean;
}

/** Whether a stream that comes again lost its place: a newer one is there, of the same session. */
export function isOutdated(
  { since = 0, again = false }: Pick<Listener, "since" | "again">,
  others: readonly Pick<Listener, "since">[],
): boolean {
  return again && others.some((other) => (other.since ?? 0) > since);
}

/** From the hub to who holds a notification stream. */
export type HubMessage = ChangeEvent | { readonly resubscribe: true };

/** From the session's object to who views a call. An event's JSON may come in parts: a message has a limit. */
export type ViewerMessage =
  | { readonly seq: number; readonly part: string; readonly last: boolean }
  | { readonly over: true };

/** From the session's object to who runs a call, or holds an HTTP+SSE stream. */
export type RunnerMessage =
  | { readonly cancel: true }
  /** A question was answered: ask again for what is known. */
  | { readonly answered: true }
  /** The client got on with a question. */
  | { readonly progress: { readonly id: string; readonly params: string } }
  /** What the client posted; `id` is its own, for it may come twice. */
  | { readonly posted: string; readonly id: string }
  /** To the holder alone: a call is stored, and nobody shows it yet. */
  | { readonly stored: string };
