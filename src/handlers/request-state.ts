// `requestState`: seals a call's progress, and the state of an upstream, to the one request that may continue it.

import { canonicalJson, digest, seal, unseal, type KeyRing } from "../auth/seal.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { ReadValue } from "../protocol/methods/params.ts";
import type { RequestScope } from "./request-scope.ts";
import type { ReplayState } from "./elicitor.ts";

/** Time that a person has for an answer. */
export const STATE_LIFETIME_MS = 3_600_000;
const MAX_ROUNDS = 20;
/** Lifetime of claims: as long as any state of the call can still be opened, if each round takes a full lifetime. */
export const CALL_LIFETIME_MS = (MAX_ROUNDS + 1) * STATE_LIFETIME_MS;
const MAX_STATE_CHARACTERS = 65_536;

/** The owner of a state, and the key ring that seals it. */
export interface StateBinding {
  readonly tenant: string;
  readonly profile: string | null;
  readonly principal: string;
  readonly ring: KeyRing;
  /** The configuration of the upstream that owns the state; absent for a handler of this Worker. */
  readonly upstream?: string;
}

type UpstreamBinding = StateBinding & { readonly upstream: string };

export function bindingOf({ tenant, profile, principal, ring }: RequestScope): StateBinding {
  return { tenant, profile, principal: principal.id, ring };
}

/** Differs for another tenant, profile, principal, upstream, method, name or arguments. The other params may change. */
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

/** Returns undefined if the sealed state is too long. */
async function sealState(binding: StateBinding, call: McpRequest, state: JsonObject): Promise<string | undefined> {
  const request = await requestDigest(binding, call);
  const payload = JSON.stringify({ request, expires: Date.now() + STATE_LIFETIME_MS, ...state });
  const text = await seal(binding.ring, purposeOf(binding), payload);
  return text.length <= MAX_STATE_CHARACTERS ? text : undefined;
}

/** Fails if the state is not sealed by this Worker, belongs to another request, or has expired. */
async function openState(
  binding: StateBinding,
  call: McpRequest,
  sealed: unknown,
): Promise<{ opened: JsonObject } | Failure> {
  if (typeof sealed !== "string" || sealed.length > MAX_STATE_CHARACTERS)
    return invalidState("is invalid; send the request again without it");
  const payload = await unseal(binding.ring, purposeOf(binding), sealed);
  if (payload === undefined) return invalidState("is invalid; send the request again without it");
  const opened = JSON.parse(payload) as JsonObject & { readonly expires: number };
  // The first format has no `format` member. A later release that changes the payload numbers its format here.
  if (opened.format !== undefined) return invalidState("is from another release; send the request again without it");
  if (opened.request !== (await requestDigest(binding, call)))
    return invalidState("belongs to another request; send the request again without it");
  return opened.expires < Date.now() ? invalidState("has expired; send the request again without it") : { opened };
}

/** `broken` says why the call cannot continue: too many rounds, or too much state. */
export async function sealReplayState(
  binding: StateBinding,
  call: McpRequest,
  state: ReplayState,
): Promise<string | { readonly broken: string }> {
  if (state.round > MAX_ROUNDS) return { broken: `a call must ask in at most ${MAX_ROUNDS} rounds` };
  return (
    (await sealState(binding, call, { progress: state })) ?? {
      broken: "the answers and memos of this call are too large",
    }
  );
}

/** Returns undefined if the request carries no state. For failures see `openState`. */
export async function openReplayState(
  binding: StateBinding,
  call: McpRequest,
): Promise<ReplayState | undefined | Failure> {
  const { requestState } = call.params;
  if (requestState === undefined) return undefined;
  const result = await openState(binding, call, requestState);
  return "opened" in result ? (result.opened.progress as ReplayState) : result;
}

/** Seals the state that an upstream stores with its client. Returns undefined if the sealed state is too long. */
export function sealUpstreamState(
  binding: UpstreamBinding,
  call: McpRequest,
  state: string,
): Promise<string | undefined> {
  return sealState(binding, call, { state });
}

/** The state as the upstream wrote it. For failures see `openState`. */
export async function openUpstreamState(
  binding: UpstreamBinding,
  call: McpRequest,
  sealed: unknown,
): Promise<{ readonly state: string } | Failure> {
  const result = await openState(binding, call, sealed);
  return "opened" in result ? { state: result.opened.state as string } : result;
}

/** The answers in a request, by the name of the question. */
export function readResponses(params: JsonObject): ReadValue<JsonObject> | Failure {
  const { inputResponses } = params;
  if (inputResponses === undefined) return { value: {} };
  if (isObject(inputResponses)) return { value: inputResponses };
  return failure("invalidParams", "Invalid params: inputResponses must be an object", { path: "inputResponses" });
}

function invalidState(why: string): Failure {
  return failure("invalidParams", `Invalid params: requestState ${why}`, { path: "requestState" });
}
