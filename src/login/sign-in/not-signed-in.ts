// Owns what somebody is told who could not sign in: why, and what to do next. Refuses the words of a provider, which may
// repeat what it was sent; its codes are said where they look like codes.

import { errorCodeIn } from "../../outbound/token-endpoint.ts";
import type { NotSignedIn } from "./sign-in.ts";

const ANEW = "Begin again in the application that sent you here";
const ASK = `${ANEW}. If it stays so, ask whoever runs this server to look at how people sign in`;

function notSignedIn(why: string, next: string, error?: NotSignedIn["error"]): NotSignedIn {
  return { kind: "notSignedIn", why, next, ...(error && { error }) };
}

export function isRefused(value: object): value is NotSignedIn {
  return "kind" in value && value.kind === "notSignedIn";
}

/** It cannot be reached, or answers what nobody can read. */
export function awayAt(url: string): NotSignedIn {
  const why = `${hostOf(url)} cannot be reached right now, or its answer cannot be used`;
  return notSignedIn(why, `Wait a minute. ${ANEW}`, "temporarily_unavailable");
}

/** What came back is no answer to what this browser was sent there with, or not the first one. */
export function strayAnswer(): NotSignedIn {
  return notSignedIn("This answer belongs to another sign-in, or to one that is over", ANEW);
}

export function deniedAt(url: string): NotSignedIn {
  const next = `${ANEW}. If you should be let in, ask whoever runs ${hostOf(url)}`;
  return notSignedIn(`${hostOf(url)} did not let you in, or you did not agree`, next, "access_denied");
}

/** Nobody who signs in can mend it. `what`: words of ours. */
export function misfitAt(url: string, what: string): NotSignedIn {
  return notSignedIn(
    `You came back from ${hostOf(url)}, but not in a way that can be used: ${what}`,
    ASK,
    "server_error",
  );
}

/** As `misfitAt`, before anybody was sent there. */
export function unsetFor(url: string, what: string): NotSignedIn {
  return notSignedIn(`Nobody can sign in at ${hostOf(url)} yet: ${what}`, ASK, "server_error");
}

/** https://datatracker.ietf.org/doc/html/rfc6749#section-4.1.2.1 */
export function codeIn(error: unknown): string {
  return errorCodeIn(error) ?? "refused";
}

export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "the provider";
}
