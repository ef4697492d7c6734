// The checks after authentication: a session of era 2025 and its stream, era 2026, and the lists.

import { readCatalog } from "../../gateway/read-catalog.ts";
import type { UpstreamCatalog } from "../../gateway/upstream-catalog.ts";
import { openLink, openCatalogLink, type UpstreamLink } from "../../gateway/upstream-link.ts";
import { requestResult2026 } from "../../mcp-client/request-result.ts";
import { indicatesHttpSse } from "../../mcp-client/connect.ts";
import { openStream } from "../../mcp-client/exchange.ts";
import { describeFault, httpStatusOf, McpFault, type Fault } from "../../mcp-client/fault.ts";
import { closeAnswer } from "../../mcp-client/http-answer.ts";
import { resultOf } from "../../mcp-client/message.ts";
import { sessionHeaders, type Session2025 } from "../../mcp-client/session-2025.ts";
import { end2025, open2025 } from "../../mcp-client/streamable-2025.ts";
import { LATEST_2025, VERSION_2026 } from "../../protocol/revisions.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import { nextMessageId, type McpEndpoint } from "../mcp-endpoint.ts";
import { missingUpstreamsOf } from "../missing-upstreams.ts";
import { mcpErrorMessage } from "../terminal/mcp-error.ts";
import { formatCount } from "../terminal/table.ts";
import { CLIENT_INFO } from "../version.ts";
import { checkTools } from "./tool-check.ts";
import { failed, note, ok, skipped, type Finding } from "./finding.ts";

const INITIALIZE_2025 = { protocolVersion: LATEST_2025.version, capabilities: {}, clientInfo: CLIENT_INFO };
const CLIENT_2026 = { clientInfo: CLIENT_INFO, capabilities: {} };
const TIMEOUT_MS = 60_000;
const END_TIMEOUT_MS = 2000;
const NO_PROFILE = "Check the profile's name: tenantry tenant show TENANT lists the profiles.";
const NO_ENDPOINT = "This is not the answer of an MCP endpoint: check that the URL is complete.";
const OLD_CLIENTS = "Clients of protocol versions up to 2025-11-25 cannot connect, which are most clients in use.";

/** `server`: the client's name for the endpoint. */
export async function checkProtocol(endpoint: McpEndpoint, server: string, signal: AbortSignal): Promise<Finding[]> {
  const finding2026 = await check2026(endpoint, signal);
  const sessionCheck = await checkSession(endpoint, signal);
  const findings = [...sessionCheck.findings];
  if (sessionCheck.session !== undefined) {
    findings.push(await checkStream(endpoint, sessionCheck.session, signal));
    // The session is no longer needed, and a server drops an idle session by itself.
    await end2025(endpoint, sessionCheck.session, { limits: { totalMs: END_TIMEOUT_MS } }).catch(() => undefined);
  }
  return [...findings, finding2026, ...(await checkLists(endpoint, server, signal))];
}

interface SessionCheck {
  readonly findings: readonly Finding[];
  readonly session?: Session2025;
}

async function checkSession(endpoint: McpEndpoint, signal: AbortSignal): Promise<SessionCheck> {
  const check = "initialize";
  try {
    const { session: openedSession, response: answer } = await open2025(endpoint, INITIALIZE_2025, nextMessageId(), {
      signal,
    });
    const serverInfo = resultOf(answer)?.serverInfo;
    const name = isObject(serverInfo) && typeof serverInfo.name === "string" ? `, ${serverInfo.name}` : "";
    const sessionText = openedSession.id === undefined ? "without a session" : "with a session";
    return { findings: [ok(check, `${openedSession.revision}${name}, ${sessionText}`)], session: openedSession };
  } catch (error) {
    if (error instanceof McpFault && indicatesHttpSse(error.fault)) {
      const httpSseFinding = await checkHttpSse(endpoint, signal);
      if (httpSseFinding) return { findings: [httpSseFinding] };
    }
    return { findings: [failed(check, mcpErrorMessage(error, endpoint), fixFor(error))] };
  }
}

function fixFor(error: unknown): string {
  if (!(error instanceof McpFault)) return OLD_CLIENTS;
  const { fault } = error;
  if (httpStatusOf(fault) === 404) return NO_PROFILE;
  return fault.kind === "status" || fault.kind === "notMcp" ? NO_ENDPOINT : OLD_CLIENTS;
}

async function checkHttpSse(endpoint: McpEndpoint, signal: AbortSignal): Promise<Finding | undefined> {
  try {
    const link = await openLink({ endpoint, client: CLIENT_2026, transport: "http-sse" }, { signal });
    await link.close();
    const fix = "Many clients no longer support HTTP+SSE: serve Streamable HTTP, which replaced it in 2025-03-26.";
    return note("initialize", `${link.revision}, over HTTP+SSE alone`, fix);
  } catch (error) {
    if (error instanceof McpFault && error.fault.kind !== "cancelled") return undefined;
    throw error;
  }
}

/** The stream on which a client of era 2025 receives notifications. */
async function checkStream(endpoint: McpEndpoint, session: Session2025, signal: AbortSignal): Promise<Finding> {
  const check = "stream";
  try {
    const response = await openStream(endpoint, { headers: sessionHeaders(session) }, { signal });
    closeAnswer(response);
    return ok(check, "a GET in the session is answered with a stream");
  } catch (error) {
    if (!(error instanceof McpFault)) throw error;
    if (httpStatusOf(error.fault) === 405) {
      return note(check, "no stream (405)", "Clients work without it, but do not learn that a list has changed.");
    }
    const fix = "A proxy may buffer the stream or refuse GET: it must pass text/event-stream on at once.";
    return failed(check, describeFault(error.fault), fix);
  }
}

async function check2026(endpoint: McpEndpoint, signal: AbortSignal): Promise<Finding> {
  const check = "server/discover";
  const client = { endpoint, client: CLIENT_2026, nextId: nextMessageId };
  try {
    const response = await requestResult2026(client, { method: "server/discover", params: {} }, { signal });
    const { supportedVersions } = resultOf(response) ?? {};
    const versions = Array.isArray(supportedVersions) ? supportedVersions : [];
    if (!versions.includes(VERSION_2026)) return skipped(check, `${VERSION_2026} is not served`);
    return ok(check, versions.join(", "));
  } catch (error) {
    return skipped(check, `${VERSION_2026} is not served: ${mcpErrorMessage(error, endpoint)}`);
  }
}

/**
 * Reads the lists as the tenantry gateway reads an upstream: a definition that the gateway would leave out breaks
 * the list of some client.
 */
async function checkLists(endpoint: McpEndpoint, server: string, signal: AbortSignal): Promise<Finding[]> {
  let events = 0;
  const countSkipped = () => {
    events += 1;
  };
  const check = "tools/list";
  let link: UpstreamLink | undefined;
  try {
    link = await openCatalogLink(
      { endpoint: { ...endpoint, onSkipped: countSkipped }, client: CLIENT_2026 },
      undefined,
      { signal },
    );
    const reasonOf = (fault: Fault) => mcpErrorMessage(new McpFault(fault), endpoint);
    const openedLink = link;
    const missing = new Map<string, string>();
    const askAndCollect: UpstreamLink["request"] = async (...args) => {
      const message = await openedLink.request(...args);
      for (const { source, why } of missingUpstreamsOf(resultOf(message) ?? {})) missing.set(source, why);
      return message;
    };
    const catalog = await readCatalog(
      { ...link, request: askAndCollect },
      { id: "x", configHash: "", timeoutMs: TIMEOUT_MS, signal, describeFault: reasonOf },
    );
    const tools = catalog.texts.tools.map((text) => JSON.parse(text) as JsonObject);
    return [
      ...toolsFinding(catalog, tools.length),
      ...omittedFindings(catalog, events),
      ...missingFindings(missing),
      ...checkTools(tools, server),
    ];
  } catch (error) {
    if (!link) return [skipped(check, "no known protocol version works")];
    const fix = "Clients show a server without tools. See the server's log.";
    return [failed(check, mcpErrorMessage(error, endpoint), fix)];
  } finally {
    await link?.close();
  }
}

function toolsFinding({ way, unread = [] }: UpstreamCatalog, tools: number): Finding[] {
  if (unread.includes("tools")) return [];
  const transportText = way === "http-sse" ? ", over HTTP+SSE" : "";
  if (tools > 0) return [ok("tools/list", formatCount(tools, "tool") + transportText)];
  const fix = "If you expect tools, tenantry explain TENANT tool NAME says why one is not visible.";
  return [note("tools/list", `no tools are visible here${transportText}`, fix)];
}

/** Upstreams that a tenant's list reports as degraded or unread. */
function missingFindings(missing: ReadonlyMap<string, string>): Finding[] {
  const fix = "tenantry upstream test TENANT UPSTREAM says what is wrong, and what to do.";
  return Array.from(missing, ([source, why]) => note("upstreams", `${source}: ${why}`, fix));
}

/** Definitions that the server has and that do not reach clients. */
function omittedFindings(
  { capped = "", unread = [], quarantined, unnamed }: UpstreamCatalog,
  events: number,
): Finding[] {
  const findings: Finding[] = [];
  if (unread.length > 0) {
    const check = unread.includes("tools") ? "tools/list" : "lists";
    findings.push(failed(check, capped, "See the server's log. Clients get its other lists."));
  } else if (capped !== "")
    findings.push(note("lists", capped, "A gateway does not read more than this: docs/gateway.md."));
  const [first] = quarantined;
  if (first) {
    const definitions = formatCount(quarantined.length + unnamed, "definition");
    const fix = "Correct them: some clients refuse the whole list because of one definition.";
    findings.push(failed("definitions", `${definitions} that clients refuse: ${first.name}: ${first.why}`, fix));
  }
  if (events > 0) {
    const detail = `${formatCount(events, "event")} of its streams without an MCP message: clients skip them`;
    findings.push(note("events", detail, "Send heartbeats as comments: lines that begin with a colon."));
  }
  return findings;
}
