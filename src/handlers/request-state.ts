// Owns `requestState`: sealing a call's progress, and what an upstream keeps at its client, to exactly the request that may
// continue it, and refusing all others.

import { canonicalJson, digest, seal, unseal, type KeyRing } from "../auth/seal.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { ReadValue } from "../protocol/methods/params.ts";
import type { RequestScope } from "./request-scope.ts";
import type { ReplayState } from "./elicitor.ts";

/** How long a person may take for an answer. */
export const STATE_LIFETIME_MS = 3_600_000;
const MAX_ROUNDS = 20;
/** How long claims are kept: as long as any state of the call can still be opened, if each round takes a lifetime. */
export const CALL_LIFETIME_MS = (MAX_ROUNDS + 1) * STATE_LIFETIME_MS;
const MAX_STATE_CHARACTERS = 65_536;

/** To whom a state belongs, and the ring that seals it. */
export interface StateBinding {
  readonly tenant: string;
  readonly profile: string | null;
  readonly principal: string;
  readonly ring: KeyRing;
  /** The configuration of the upstream whose state it is; absent: of a handler of ours. */
  readonly upstream?: string;
}

type UpstreamBinding = StateBinding & { readonly upstream: string };

export function bindingOf({ tenant, profile, principal, ring }: RequestScope): StateBinding {
  return { tenant, profile, principal: principal.id, ring };
}

/** Differs for another tenant, profile, principal, upstream, method, name or arguments; the rest of the params may change. */
async function requestDigest(
  { tenant, profile, principal, upstream }: StateBinding,
  call: McpRequest,
): Promise<string> {
  const { params, method } = call;
  const subject = params.name ?? params.uri;
  const parts = [tenant, profile, principal, method, subject, params.arguments ?? {}];
  return digest(canonicalJson(upstream === undefined ? parts : [...parts, upstream]));
}

function purposeOf({ upstream }: StateBinding): string {
  return upstream === undefined ? "requestState" : "requestState of an upstream";
}

/** undefined: it is too long. */
async function sealState(binding: StateBinding, call: McpRequest, state: JsonObject): Promise<string | undefined> {
  const request = await requestDigest(binding, call);
  const payload = JSON.stringify({ request, expires: call.now() + STATE_LIFETIME_MS, ...state });
  const text = await seal(binding.ring, purposeOf(binding), payload);
  return text.length <= MAX_STATE_CHARACTERS ? text : undefined;
}

/** A failure: not ours, of another request, or expired. */
async function openState(
  binding: StateBinding,
  call: McpRequest,
  sealed: unknown,
): Promise<{ opened: JsonObject } | Failure> {
  if (typeof sealed !== "string" || sealed.length > MAX_STATE_CHARACTERS) return invalidState("is not one of ours");
  const payload = await unseal(binding.ring, purposeOf(binding), sealed);
  if (payload === undefined) return invalidState("is not one of ours");
  const opened = JSON.parse(payload) as JsonObject & { readonly expires: number };
  // No format is the first one. A later release that changes the payload counts here.
  if (opened.format !== undefined) return invalidState("is of another release; send the request again without it");
  if (opened.request !== (await requestDigest(binding, call))) return invalidState("belongs to another request");
  return opened.expires < call.now() ? invalidState("has expired; send the request again without it") : { opened };
}

/** `broken` says why the call cannot go on: too many rounds, or too much to keep. */
export async function sealReplayState(
  binding: StateBinding,
  call: McpRequest,
  state: ReplayState,
): Promise<string | { readonly broken: string }> {
  if (state.round > MAX_ROUNDS) return { broken: `a call asks in at most ${MAX_ROUNDS} rounds` };
  return (
    (await sealState(binding, call, { progress: state })) ?? {
      broken: "the answers and memos of this call are too large",
    }
  );
}

/** undefined: the request carries no state. A failure: see `openState`. */
export async function openReplayState(
  binding: StateBinding,
  call: McpRequest,
): Promise<ReplayState | undefined | Failure> {
  const { requestState } = call.params;
  if (requestState === undefined) return undefined;
  const result = await openState(binding, call, requestState);
  return "opened" in result ? (result.opened.progress as ReplayState) : result;
}

/** What an upstream keeps at its client, sealed. undefined: it is too long. */
export function sealUpstreamState(
  binding: UpstreamBinding,
  call: McpRequest,
  state: string,
): Promise<string | undefined> {
  return sealState(binding, call, { state });
}

/** The state as the upstream wrote it. A failure: see `openState`. */
export async function openUpstreamState(
  binding: UpstreamBinding,
  call: McpRequest,
  sealed: unknown,
): Promise<{ readonly state: string } | Failure> {
  const result = await openState(binding, call, sealed);
  return "opened" in result ? { state: result.opened.state as string } : result;
}

/** The answers that a request brings, by the name of the question. */
export function readResponses(params: JsonObject): ReadValue<JsonObject> | Failure {
  const { inputResponses } = params;
  if (inputResponses === undefined) return { value: {} };
  if (isObject(inputResponses)) return { value: inputResponses };
  return failure("invalidParams", "Invalid params: inputResponses must be an object", { path: "inputResponses" });
}

function invalidState(why: string): Failure {
  return failure("invalidParams", `Invalid params: requestState ${why}`, { path: "requestState" });
}
