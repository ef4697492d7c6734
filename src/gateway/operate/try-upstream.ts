// Owns trying an upstream: connected to and read as it is configured, beside whatever is known of it, through the same door
// as ever. Refuses to keep anything of it, and to show a text of the server's that is no name or version.

import type { UpstreamGround, UpstreamServer, UpstreamTrial } from "../../deployment/deployment.ts";
import { McpFault, type Fault } from "../../mcp-client/fault.ts";
import { combinedAtTop } from "../../protocol/client-rules.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import type { UpstreamDocument } from "../../tenants/document/tenant-document.ts";
import { serviceOf, ungranted, type Services } from "../guard/service-binding.ts";
import { Redaction } from "../guard/redaction.ts";
import { readingFetch, tokenFetch } from "../outbound-fetch.ts";
import { capsWith, readCatalog } from "../read-catalog.ts";
import { NotRead, reasonOf } from "../refresh-entrypoint.ts";
import { lackingSecret, operatorDetail, reasonFor, unreadReason, withDetail } from "../unread-reason.ts";
import { causesOfLack, flagCatalog, type UpstreamCatalog } from "../upstream-catalog.ts";
import { configOf, endpointOf, headersOf, withToken } from "../upstream-config.ts";
import { surveyLink } from "../upstream-link.ts";
import { placeToRead } from "./refresh-upstream.ts";
import { contentOf } from "./report-upstreams.ts";

/** A person waits for it. */
const WITHIN_MS = 30_000;
const MAX_TEXT = 200;
const MOST_REFUSED = 100;

export async function tryUpstream(ground: UpstreamGround, id: string, how: TryHow): Promise<UpstreamTrial> {
  const upstream = ground.document.upstreams?.[id];
  if (!upstream) return { ms: 0, fault: "there is no such upstream", causes: [] };
  const leave = await placeToRead(ground.tenant);
  const began = Date.now();
  try {
    const found = await readOnce(ground, id, { upstream, ...how });
    return { ms: Date.now() - began, ...found };
  } catch (error) {
    const detail = error instanceof NotRead ? error.detail : undefined;
    const { why, causes } = reasonOf(error);
    return { ms: Date.now() - began, fault: withDetail(why, detail), causes };
  } finally {
    leave();
  }
}

interface TryHow {
  readonly services: Services;
  /** As `gateway({ pages })` says. */
  readonly pages: number;
}

interface Tried extends TryHow {
  readonly upstream: UpstreamDocument;
}

async function readOnce(ground: UpstreamGround, id: string, { upstream, services, pages }: Tried) {
  const { tenant, env, server } = ground;
  const refused = ungranted(ground.document, upstream);
  if (refused !== undefined) throw new NotRead(reasonFor("service-missing", refused));
  const named = await headersOf(upstream, { tenant, env, secret: (name) => ground.secret(name) });
  if ("lacks" in named) throw new NotRead(lackingSecret(named.lacks));
  const leaving = { tenant, env, hops: 0 };
  // Whoever tries it waits for the token.
  const filled = await withToken(named, { fetch: tokenFetch(leaving), now: Date.now, waitUntil: () => {} });
  const leave = readingFetch(leaving, serviceOf(upstream, services, env));
  const endpoint = endpointOf(upstream, filled.headers, leave);
  const clientInfo = { name: server.name, version: server.version };
  const { era = "auto" } = upstream;
  const signal = AbortSignal.timeout(WITHIN_MS);
  const until = Date.now() + WITHIN_MS;
  let skipped = 0;
  const skip = () => {
    skipped += 1;
  };
  const how = { endpoint: { ...endpoint, skipped: skip }, about: { clientInfo, capabilities: {} } };
  // A server may say what it was sent.
  const redaction = new Redaction(filled.secrets);
  const failed = (error: unknown) => {
    const detail = error instanceof McpFault ? operatorDetail(error.fault, filled.secrets) : undefined;
    const { why, causes } = reasonOf(error, WITHIN_MS);
    throw new NotRead({ why: redaction.value(why), causes }, undefined, redaction.value(detail));
  };
  const link = await surveyLink(how, era === "auto" ? undefined : era, { signal }).catch(failed);
  try {
    const wordsOf = (fault: Fault) => withDetail(unreadReason(fault, WITHIN_MS), operatorDetail(fault, filled.secrets));
    const withinMs = until - Date.now();
    const reading = { id, of: configOf(upstream), caps: capsWith(pages), withinMs, signal, reasonOf: wordsOf };
    const catalog = await readCatalog(link, reading).catch(failed);
    const content = contentOf({ ...catalog, skipped, flagged: flagCatalog(catalog).flagged ?? {} });
    const found = { content, server: aboutServer(link.server), refused: refusedIn(catalog) };
    return { ...redaction.value(found), causes: causesOfLack(catalog) };
  } finally {
    await link.close();
  }
}

/** The others were left out when it was read, and each name was made one that clients take. */
function refusedIn({ texts }: UpstreamCatalog) {
  const all = texts.tools.flatMap((text) => {
    const { name, inputSchema } = JSON.parse(text) as JsonObject;
    const keywords = combinedAtTop(inputSchema).join(", ");
    if (keywords === "") return [];
    return [
      { name: String(name), why: `${keywords} at the top of inputSchema: Claude refuses all tools for one such` },
    ];
  });
  return all.slice(0, MOST_REFUSED);
}

function aboutServer(server: unknown): UpstreamServer {
  const { name, version } = isObject(server) ? server : {};
  return {
    ...(typeof name === "string" && { name: name.slice(0, MAX_TEXT) }),
    ...(typeof version === "string" && { version: version.slice(0, MAX_TEXT) }),
  };
}
