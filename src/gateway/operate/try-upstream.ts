// Tests an upstream: connects and reads it as configured, with the same outbound checks as always. Stores nothing, and
// shows no text of the server except its name, its version and operator details.

import type { UpstreamContext, UpstreamServer, UpstreamTrial } from "../../deployment/deployment.ts";
import { McpFault, type Fault } from "../../mcp-client/fault.ts";
import { topLevelCombinators } from "../../protocol/client-rules.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import type { UpstreamDocument } from "../../tenants/document/tenant-document.ts";
import { getServiceFetch, serviceGrantError, type Services } from "../guard/service-binding.ts";
import { Redaction } from "../guard/redaction.ts";
import { createCatalogFetch, createTokenFetch } from "../upstream-fetch.ts";
import { limitsWithTotalPages, readCatalog } from "../read-catalog.ts";
import { RefreshError, reasonOf } from "../refresh-entrypoint.ts";
import { missingSecretReason, operatorDetail, createReason, describeReadFault, withDetail } from "../read-failure.ts";
import { causesOfGaps, flagCatalog, type UpstreamCatalog } from "../upstream-catalog.ts";
import { configHashOf, endpointOf, resolveHeaders, withToken } from "../upstream-config.ts";
import { openCatalogLink } from "../upstream-link.ts";
import { acquireReadSlot } from "./refresh-upstream.ts";
import { contentOf } from "./report-upstreams.ts";

/** A person waits for the result. */
const TIMEOUT_MS = 30_000;
const MAX_TEXT = 200;
const MAX_REJECTED = 100;

export async function tryUpstream(context: UpstreamContext, id: string, options: TryOptions): Promise<UpstreamTrial> {
  const upstream = context.document.upstreams?.[id];
  if (!upstream) return { ms: 0, fault: `there is no upstream "${id}"`, causes: [] };
  const release = await acquireReadSlot(context.tenant);
  const startedAt = Date.now();
  try {
    const trial = await readOnce(context, id, { upstream, ...options });
    return { ms: Date.now() - startedAt, ...trial };
  } catch (error) {
    const detail = error instanceof RefreshError ? error.detail : undefined;
    const { why, causes } = reasonOf(error);
    return { ms: Date.now() - startedAt, fault: withDetail(why, detail), causes };
  } finally {
    release();
  }
}

interface TryOptions {
  readonly services: Services;
  /** As in `gateway({ pages })`. */
  readonly pages: number;
}

interface TryReadOptions extends TryOptions {
  readonly upstream: UpstreamDocument;
}

async function readOnce(context: UpstreamContext, id: string, { upstream, services, pages }: TryReadOptions) {
  const { tenant, env, server } = context;
  const grantError = serviceGrantError(context.document, upstream);
  if (grantError !== undefined) throw new RefreshError(createReason("service-missing", grantError));
  const resolvedHeaders = await resolveHeaders(upstream, { tenant, env, secret: (name) => context.secret(name) });
  if ("missingSecret" in resolvedHeaders) throw new RefreshError(missingSecretReason(resolvedHeaders.missingSecret));
  const outbound = { tenant, env, hops: 0 };
  // The caller waits for the token, so it needs no `waitUntil`.
  const authorizedHeaders = await withToken(resolvedHeaders, {
    fetch: createTokenFetch(outbound),
    now: Date.now,
    waitUntil: () => {},
  });
  const upstreamFetch = createCatalogFetch(outbound, getServiceFetch(upstream, services, env));
  const endpoint = endpointOf(upstream, authorizedHeaders.headers, upstreamFetch);
  const clientInfo = { name: server.name, version: server.version };
  const { era = "auto" } = upstream;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const deadline = Date.now() + TIMEOUT_MS;
  let skipped = 0;
  const countSkipped = () => {
    skipped += 1;
  };
  const linkConfig = { endpoint: { ...endpoint, onSkipped: countSkipped }, client: { clientInfo, capabilities: {} } };
  // A server may echo what it was sent.
  const redaction = new Redaction(authorizedHeaders.secrets);
  const rethrow = (error: unknown) => {
    const detail = error instanceof McpFault ? operatorDetail(error.fault, authorizedHeaders.secrets) : undefined;
    const { why, causes } = reasonOf(error, TIMEOUT_MS);
    throw new RefreshError({ why: redaction.value(why), causes }, undefined, redaction.value(detail));
  };
  const link = await openCatalogLink(linkConfig, era === "auto" ? undefined : era, { signal }).catch(rethrow);
  try {
    const describeFault = (fault: Fault) =>
      withDetail(describeReadFault(fault, TIMEOUT_MS), operatorDetail(fault, authorizedHeaders.secrets));
    const timeoutMs = deadline - Date.now();
    const options = {
      id,
      configHash: configHashOf(upstream),
      limits: limitsWithTotalPages(pages),
      timeoutMs,
      signal,
      describeFault: describeFault,
    };
    const catalog = await readCatalog(link, options).catch(rethrow);
    const content = contentOf({ ...catalog, skipped, flagged: flagCatalog(catalog).flagged ?? {} });
    const trial = { content, server: toServerInfo(link.server), refused: findRejectedTools(catalog) };
    return { ...redaction.value(trial), causes: causesOfGaps(catalog) };
  } finally {
    await link.close();
  }
}

/** Tools that some clients reject. Malformed definitions were left out on reading, and names were made acceptable. */
function findRejectedTools({ texts }: UpstreamCatalog) {
  const all = texts.tools.flatMap((text) => {
    const { name, inputSchema } = JSON.parse(text) as JsonObject;
    const keywords = topLevelCombinators(inputSchema).join(", ");
    if (keywords === "") return [];
    return [
      {
        name: String(name),
        why: `${keywords} at the top of inputSchema: Claude refuses all tools of a server with such a tool`,
      },
    ];
  });
  return all.slice(0, MAX_REJECTED);
}

function toServerInfo(server: unknown): UpstreamServer {
  const { name, version } = isObject(server) ? server : {};
  return {
    ...(typeof name === "string" && { name: name.slice(0, MAX_TEXT) }),
    ...(typeof version === "string" && { version: version.slice(0, MAX_TEXT) }),
  };
}
