// Messages for a person who could not sign in: the reason and the next step. A provider's own texts are not repeated,
// because they may echo input; its error codes are, if they look like codes.

import { parseOAuthErrorCode } from "../../outbound/token-endpoint.ts";
import type { SignInFailure } from "./identity-provider-client.ts";

const START_OVER = "Start again in the application that sent you here";
const ASK_OPERATOR = `${START_OVER}. If the problem remains, ask the operator of this server to check its sign-in`;

function createFailure(why: string, next: string, error?: SignInFailure["error"]): SignInFailure {
  return { kind: "notSignedIn", why, next, ...(error && { error }) };
}

export function isSignInFailure(value: object): value is SignInFailure {
  return "kind" in value && value.kind === "notSignedIn";
}

/** The provider is unreachable, or its answer is unreadable. */
export function providerUnavailable(url: string): SignInFailure {
  const why = `${hostOf(url)} cannot be reached right now, or sent an invalid answer`;
  return createFailure(why, `Wait a minute. ${START_OVER}`, "temporarily_unavailable");
}

/** The answer does not belong to this browser's request, or was used before. */
export function unexpectedAnswer(): SignInFailure {
  return createFailure("This sign-in has ended, or it was started in another browser", START_OVER);
}

export function accessDenied(url: string): SignInFailure {
  const next = `${START_OVER}. If you should have access, ask the administrator of ${hostOf(url)}`;
  return createFailure(`${hostOf(url)} denied access, or you did not agree`, next, "access_denied");
}

/** An error that the person cannot fix. `problem`: our own words. */
export function unusableAnswer(url: string, problem: string): SignInFailure {
  return createFailure(`The sign-in at ${hostOf(url)} failed: ${problem}`, ASK_OPERATOR, "server_error");
}

/** Like `unusableAnswer`, before the browser goes to the provider. */
export function notConfigured(url: string, problem: string): SignInFailure {
  return createFailure(
    `Sign-in at ${hostOf(url)} is not configured correctly: ${problem}`,
    ASK_OPERATOR,
    "server_error",
  );
}

/** https://datatracker.ietf.org/doc/html/rfc6749#section-4.1.2.1 */
export function errorCodeOf(error: unknown): string {
  return parseOAuthErrorCode(error) ?? "refused";
}

export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "the provider";
}
