// What every check of the bad weather is: it plays a round in a world, and says what of it must not have been.

import type { Draws } from "./draws.ts";
import { isUnknown, type Answer, type UnreliableWorkers } from "./unreliable-workers.ts";

export interface Played {
  readonly operations: number;
  /** Each a line that a person understands. */
  readonly violations: readonly string[];
  /** What can only be judged when `CUT_OFF_AFTER_MS` has gone by for its hostnames: gives the violations. */
  readonly later?: () => Promise<readonly string[]>;
}

/** Whoever began something so long ago was cut off, and what it left behind is cleared up by whoever needs it. */
export const CUT_OFF_AFTER_MS = 61_000;

export interface Scene {
  readonly workers: UnreliableWorkers;
  readonly draws: Draws;
  /** Begins the name of every tenant, base and hostname of the round; no other round has it. */
  readonly tag: string;
  /** Something may be left behind that is only found later. */
  readonly isFaulty: boolean;
  /** Plays the part that is in bad weather. */
  stormy<T>(work: () => Promise<T>): Promise<T>;
}

export interface Check {
  readonly name: string;
  /** What is claimed, as the test's title goes on. */
  readonly claim: string;
  readonly play: (scene: Scene) => Promise<Played>;
}

/** A tenant that anybody may ask, of which nothing older is served for long. */
export const OPEN = { mode: "open", maxStalenessMs: 50 } as const;

export async function makeTenant({ workers }: Scene, id: string, document: object = {}): Promise<void> {
  const { status, text } = await workers.insist("POST", "/tenants", {
    body: { id, document: { ...OPEN, ...document } },
  });
  if (status !== 201 && status !== 409) throw new Error(`${id} is not made: ${status} ${text}`);
}

/** `what` where the answer is neither one of these statuses nor lost. */
export function unexpected(what: string, answer: Answer, statuses: readonly number[]): readonly string[] {
  if (isUnknown(answer) || statuses.includes(answer.status)) return [];
  return [`${what} was answered ${answer.status} ${answer.text.slice(0, 300)}`];
}

export function json(answer: Answer): Record<string, unknown> {
  return JSON.parse(answer.text) as Record<string, unknown>;
}
