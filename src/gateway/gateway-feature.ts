// The `gateway()` feature that authors import: upstreams, and the endpoint on which a message names its upstream.

import { insecureTransportError } from "../auth/origin.ts";
import type { BuiltInFeature, UntypedEnv, BuiltInRoutes, GatewayEnvelope } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { createGatewayFeature, type GatewayOptions } from "./gateway.ts";
import { parseEnvelope } from "./envelope-endpoint.ts";
import { stripMountPath } from "../deployment/mount.ts";
import { classify } from "../protocol/classify.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isObject, isMessageId, type EchoId } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { serveWithAppUser, type Endpoint } from "../endpoint/serve.ts";
import { authorizeRequest } from "../endpoint/authorize-request.ts";
import { createRequest2025 } from "../endpoint/era-2025/answer-2025.ts";
import { runCall } from "../endpoint/era-2025/run-call.ts";
import { rateLimit, countRefusal, firstRejection } from "../endpoint/rate-limit.ts";
import { answer2026, handlePost, type BodyHandler } from "../endpoint/mcp.ts";
import { respondAccepted, respondFailure } from "../endpoint/respond.ts";
import type { EndpointTarget, Env, RequestContext } from "../endpoint/request-context.ts";

/**
 * Serves the MCP servers in `upstreams` of a tenant's document as the tenant's own, and adds the endpoint
 * `/gateway/{tenant}`. See `node_modules/tenantry/docs/gateway.md`. Throws a TypeError for invalid options.
 */
export function gateway(options: GatewayOptions = {}): Feature {
  // The gateway forwards client headers to upstreams, so plain HTTP is refused.
  const feature: BuiltInFeature = {
    ...createGatewayFeature(options),
    transportError: insecureTransportError,
    routes: envelopeRoutes(parseEnvelope),
  };
  return feature;
}

/**
 * The endpoint `/gateway/{tenant}[/{profile}]`. A POST body holds a message and its `server_id`. The request takes the
 * same steps as any POST, and the gateway answers the message inside. No sessions, notification streams or batches.
 */
function envelopeRoutes(parse: (body: unknown) => GatewayEnvelope | Failure): BuiltInRoutes {
  const answerEnvelope: BodyHandler = async (authorized, accepted, { value }) => {
    const { context } = authorized;
    const envelope = parse(value);
    const limitedMessage = isFailure(envelope) ? undefined : envelope.toLimitedMessage(authorized.view);
    const rejection = firstRejection(await rateLimit(authorized, limitedMessage));
    if (rejection) return respondFailure(context.era, echoIdOf(value), rejection);
    if (isFailure(envelope)) return respondFailure(context.era, echoIdOf(value), envelope);
    context.envelope = envelope;
    return answerEnvelopedMessage(authorized, accepted, envelope.message);
  };
  const endpoint: Endpoint = {
    post: async (context, maxBodyBytes) => handlePost(context, maxBodyBytes, answerEnvelope),
    nonPost: rejectNonPost,
  };
  return {
    path: "/gateway/*",
    open: (deployment) => (request, env: UntypedEnv, ctx) =>
      serveWithAppUser(
        deployment,
        { request, env: env as unknown as Env, ctx },
        parseEndpointTarget(request, deployment.path),
        endpoint,
      ),
  };
}

/** Returns undefined if no tenant is named, or if the path has further segments. */
function parseEndpointTarget({ url }: Request, mount: string): EndpointTarget | undefined {
  const [, tenant, profile = null, ...more] = stripMountPath(mount, new URL(url).pathname).split("/").filter(Boolean);
  if (tenant === undefined || more.length > 0) return undefined;
  return { tenant, profile, path: profile === null ? `/${tenant}` : `/${tenant}/${profile}` };
}

/** Each call is independent, so a session header is ignored. */
async function answerEnvelopedMessage(
  authorized: Parameters<BodyHandler>[0],
  accepted: Parameters<BodyHandler>[1],
  message: unknown,
): Promise<Response> {
  const classified = classify(message, { ...authorized.context.inbound, session: null });
  switch (classified.kind) {
    case "rejected":
      return respondFailure(classified.era, classified.id, classified.failure);
    case "ignored":
      return respondAccepted();
    case "request2026":
      return answer2026(authorized, accepted, classified);
    case "batch2025":
      return respondFailure(
        "2025",
        undefined,
        failure("invalidRequest", "Invalid Request: a batch is not allowed, send one message"),
      );
    case "message2025":
      if (classified.message.kind !== "request") return respondAccepted();
      return runCall(authorized, createRequest2025(authorized, classified.message, classified.revision, null), {
        session: null,
        acceptsStream: accepted.stream,
      });
  }
}

function echoIdOf(body: unknown): EchoId {
  return isObject(body) && (isMessageId(body.id) || body.id === null) ? body.id : undefined;
}

async function rejectNonPost(context: RequestContext): Promise<Response> {
  const era = context.era;
  const authorized = await authorizeRequest(context);
  if (isFailure(authorized)) return respondFailure(era, undefined, countRefusal(context, authorized));
  const limitFailure = firstRejection(await rateLimit(authorized, undefined));
  if (limitFailure) return respondFailure(era, undefined, limitFailure);
  const response = respondFailure(era, undefined, failure("methodNotAllowed", "Method not allowed: use POST"));
  response.headers.set("allow", "POST, OPTIONS");
  return response;
}
