// What of an answer must not be: an error of ours where a retry could have saved it, and one that does not say when to
// come again.

import type { InjectedFault, InjectedFaultKind } from "../../support/injected-faults.ts";
import type { ObservedAnswer } from "./answers.ts";

/** What no second try can help against: who has too much to do is left alone, and nobody waits for ever. */
const PAST_HELP: ReadonlySet<InjectedFaultKind> = new Set(["overloaded", "hung", "subrequests"]);

/** Longer than the patience of everything together. */
const ANSWERED_WITHIN_MS = 25_000;

/** Calls of objects that do something else when they are made twice, so that whoever asked decides whether they are. */
export const NOT_TWICE = /content\.(put|remove)|policy\.(write|create)|bases\.(putBase|removeBase)/;

export type Outcome = "answered" | "refused" | "left" | "owed" | "violation";

export interface Judged {
  readonly outcome: Outcome;
  /** Of a violation. */
  readonly why: string;
}

export function isBad({ status, fault }: ObservedAnswer): boolean {
  return status >= 500 || (status > 0 && fault !== "");
}

function isPastHelp({ kind, call }: InjectedFault): boolean {
  // Whoever claimed did not hear that it was they.
  const isLostClaim = kind === "answer lost" && call.endsWith("authority.claim");
  return PAST_HELP.has(kind) || NOT_TWICE.test(call) || isLostClaim;
}

/**
 * What is drawn strikes no name twice for a request. But a reset of all objects may strike the second try of what failed
 * before, and a lease is asked for by one request for all that wait: the next one's may be struck too.
 */
function isStruckTwice(strikes: readonly InjectedFault[]): boolean {
  const own = strikes.filter(({ isInner }) => !isInner);
  const isAnyonesTry = ({ kind, call }: InjectedFault) => kind === "reset" || call.endsWith("policy.lease");
  return own.some((one) => isAnyonesTry(one) && own.some((other) => other !== one && other.call === one.call));
}

/** `strikes`: what struck its request, and what struck objects meanwhile. */
export function verdictOf(answer: ObservedAnswer, strikes: readonly InjectedFault[]): Judged {
  const { status, retryAfter, what, fault, begun, ended } = answer;
  const text = `${what} was answered ${status} ${fault}`;
  if (status === 503 && retryAfter === null) return { outcome: "violation", why: `${text}, without Retry-After` };
  const isStream = what.endsWith(" GET") || what.includes("listen");
  if (!isStream && ended - begun > ANSWERED_WITHIN_MS)
    return { outcome: "violation", why: `${text} after ${ended - begun} ms` };
  if (status === 0) return { outcome: "left", why: "" };
  if (!isBad(answer)) return { outcome: status >= 400 ? "refused" : "answered", why: "" };
  if (strikes.some(isPastHelp) || isStruckTwice(strikes)) return { outcome: "owed", why: "" };
  const struck = strikes.map(({ call, kind, isInner }) => `${kind} ${call}${isInner ? " (inner)" : ""}`);
  return { outcome: "violation", why: `${text}, though all that struck was [${[...new Set(struck)].join(", ")}]` };
}
