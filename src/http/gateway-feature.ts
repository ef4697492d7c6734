// Owns the feature `gateway()` as a Worker's author imports it: upstreams, and the endpoint on which a message names one.

import { exposedBy } from "../auth/origin.ts";
import type { BuiltInFeature, Bindings, BuiltInRoutes, Unwrapped } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { upstreamsFeature, type GatewayOptions } from "../gateway/gateway.ts";
import { unwrapMessage } from "../gateway/wrapped-calls.ts";
import { pathBelow } from "../deployment/mount.ts";
import { classify } from "../protocol/classify.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isObject, isRequestId, type EchoId } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { serveCaller, type Endpoint } from "./app.ts";
import { enter } from "./enter.ts";
import { call2025 } from "./era-2025/answers.ts";
import { runCall } from "./era-2025/calls.ts";
import { limitMessages, refusal, wholly } from "./limit-messages.ts";
import { answer2026, handlePost, type AnswerBody } from "./mcp.ts";
import { respondAccepted, respondFailure } from "./respond.ts";
import type { Address, Env, Visit } from "./visit.ts";

/** Upstreams of tenants: `docs/gateway.md`. */
export function gateway(options: GatewayOptions = {}): Feature {
  // Upstreams are sent headers of clients.
  const feature: BuiltInFeature = {
    ...upstreamsFeature(options),
    exposed: exposedBy,
    routes: wrappedRoutes(unwrapMessage),
  };
  return feature;
}

/**
 * The endpoint `/gateway/{tenant}[/{profile}]`: a POST whose body holds a message and something beside it. It takes the steps of every
 * POST, then the feature that unwraps it answers. No sessions, streams of notifications or batches.
 */
function wrappedRoutes(unwrap: (body: unknown) => Unwrapped | Failure): BuiltInRoutes {
  const answerWrapped: AnswerBody = async (entered, accepted, { value }) => {
    const { visit } = entered;
    const unwrapped = unwrap(value);
    const counted = isFailure(unwrapped) ? undefined : unwrapped.counted(entered.view);
    const refused = wholly(await limitMessages(entered, counted));
    if (refused) return respondFailure(visit.era, idIn(value), refused);
    if (isFailure(unwrapped)) return respondFailure(visit.era, idIn(value), unwrapped);
    visit.unwrapped = unwrapped;
    return answerMessage(entered, accepted, unwrapped.message);
  };
  const endpoint: Endpoint = {
    post: async (visit, maxBodyBytes) => handlePost(visit, maxBodyBytes, answerWrapped),
    other: refuseOther,
  };
  return {
    path: "/gateway/*",
    open: (deployment) => (request, env: Bindings, ctx) =>
      serveCaller(
        deployment,
        { request, env: env as unknown as Env, ctx },
        addressIn(request, deployment.path),
        endpoint,
      ),
  };
}

/** undefined: no tenant is named. */
function addressIn({ url }: Request, mount: string): Address | undefined {
  const [, tenant, profile = null, ...more] = pathBelow(mount, new URL(url).pathname).split("/").filter(Boolean);
  if (tenant === undefined || more.length > 0) return undefined;
  return { tenant, profile, path: profile === null ? `/${tenant}` : `/${tenant}/${profile}` };
}

/** Each call stands for itself: a session that a header names is none of this endpoint's. */
async function answerMessage(
  entered: Parameters<AnswerBody>[0],
  accepted: Parameters<AnswerBody>[1],
  message: unknown,
): Promise<Response> {
  const classified = classify(message, { ...entered.visit.inbound, session: null });
  switch (classified.kind) {
    case "rejected":
      return respondFailure(classified.era, classified.id, classified.failure);
    case "ignored":
      return respondAccepted();
    case "request2026":
      return answer2026(entered, accepted, classified);
    case "batch2025":
      return respondFailure("2025", undefined, failure("invalidRequest", "Invalid Request: one message at a time"));
    case "message2025":
      if (classified.message.kind !== "request") return respondAccepted();
      return runCall(entered, call2025(entered, classified.message, classified.dialect, null), {
        session: null,
        streams: accepted.stream,
      });
  }
}

function idIn(body: unknown): EchoId {
  return isObject(body) && (isRequestId(body.id) || body.id === null) ? body.id : undefined;
}

async function refuseOther(visit: Visit): Promise<Response> {
  const era = visit.era;
  const entered = await enter(visit);
  if (isFailure(entered)) return respondFailure(era, undefined, refusal(visit, entered));
  const limited = wholly(await limitMessages(entered, undefined));
  if (limited) return respondFailure(era, undefined, limited);
  const response = respondFailure(era, undefined, failure("methodNotAllowed", "Method not allowed: use POST"));
  response.headers.set("allow", "POST, OPTIONS");
  return response;
}
