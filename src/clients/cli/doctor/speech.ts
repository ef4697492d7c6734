// What a client meets once it is let in: a session of era 2025 and its stream, era 2026, and the lists.

import { readCatalog } from "../../../gateway/read-catalog.ts";
import type { UpstreamCatalog } from "../../../gateway/upstream-catalog.ts";
import { openLink, surveyLink, type UpstreamLink } from "../../../gateway/upstream-link.ts";
import { ask2026 } from "../../../mcp-client/ask.ts";
import { speaksHttpSse } from "../../../mcp-client/connect.ts";
import { openStream } from "../../../mcp-client/exchange.ts";
import { describeFault, httpStatusOf, McpFault, type Fault } from "../../../mcp-client/fault.ts";
import { closeAnswer } from "../../../mcp-client/http-answer.ts";
import { resultOf } from "../../../mcp-client/message.ts";
import { sessionHeaders, type Session2025 } from "../../../mcp-client/session-2025.ts";
import { end2025, open2025 } from "../../../mcp-client/streamable-2025.ts";
import { LATEST_2025, REVISION_2026 } from "../../../protocol/era.ts";
import { isObject, type JsonObject } from "../../../protocol/jsonrpc.ts";
import { nextRequestId, type McpEndpoint } from "../mcp-endpoint.ts";
import { lacksOfList } from "../list-lacks.ts";
import { mcpReason } from "../terminal/mcp-problem.ts";
import { count } from "../terminal/table.ts";
import { CLIENT_INFO } from "../version.ts";
import { judgeTools } from "./definitions.ts";
import { failed, note, ok, skipped, type Finding } from "./finding.ts";

const HELLO_2025 = { protocolVersion: LATEST_2025.revision, capabilities: {}, clientInfo: CLIENT_INFO };
const ABOUT_2026 = { clientInfo: CLIENT_INFO, capabilities: {} };
const WITHIN_MS = 60_000;
const GOODBYE_MS = 2000;
const NO_PROFILE = "Is the profile's name right, behind that of the tenant? tenantry tenant show TENANT lists them.";
const NO_ENDPOINT = "This is no answer of an MCP endpoint: is the URL whole?";
const OLD_CLIENTS = "Clients of the revisions up to 2025-11-25 cannot connect: most of those that are in use.";

/** `server`: what a client calls the endpoint. */
export async function speech(endpoint: McpEndpoint, server: string, signal: AbortSignal): Promise<Finding[]> {
  const newest = await era2026(endpoint, signal);
  const begun = await session(endpoint, signal);
  const findings = [...begun.findings];
  if (begun.session !== undefined) {
    findings.push(await stream(endpoint, begun.session, signal));
    // The session is of no use to anybody; a server that does not hear of it forgets it by itself.
    await end2025(endpoint, begun.session, { limits: { totalMs: GOODBYE_MS } }).catch(() => undefined);
  }
  return [...findings, newest, ...(await lists(endpoint, server, signal))];
}

interface Begun {
  readonly findings: readonly Finding[];
  readonly session?: Session2025;
}

async function session(endpoint: McpEndpoint, signal: AbortSignal): Promise<Begun> {
  const step = "initialize";
  try {
    const { session: begun, answer } = await open2025(endpoint, HELLO_2025, nextRequestId(), { signal });
    const about = resultOf(answer)?.serverInfo;
    const name = isObject(about) && typeof about.name === "string" ? `, ${about.name}` : "";
    const kept = begun.id === undefined ? "no session is kept" : "with a session";
    return { findings: [ok(step, `${begun.revision}${name}, ${kept}`)], session: begun };
  } catch (error) {
    if (error instanceof McpFault && speaksHttpSse(error.fault)) {
      const older = await httpSse(endpoint, signal);
      if (older) return { findings: [older] };
    }
    return { findings: [failed(step, mcpReason(error, endpoint), mendOf(error))] };
  }
}

function mendOf(error: unknown): string {
  if (!(error instanceof McpFault)) return OLD_CLIENTS;
  const { fault } = error;
  if (httpStatusOf(fault) === 404) return NO_PROFILE;
  return fault.kind === "status" || fault.kind === "notMcp" ? NO_ENDPOINT : OLD_CLIENTS;
}

async function httpSse(endpoint: McpEndpoint, signal: AbortSignal): Promise<Finding | undefined> {
  try {
    const link = await openLink({ endpoint, about: ABOUT_2026, way: "http-sse" }, { signal });
    await link.close();
    const mend = "Many clients no longer speak it: serve Streamable HTTP, which replaced it in 2025-03-26.";
    return note("initialize", `${link.revision}, over HTTP+SSE alone`, mend);
  } catch (error) {
    if (error instanceof McpFault && error.fault.kind !== "cancelled") return undefined;
    throw error;
  }
}

/** On which a client of era 2025 hears of changes. */
async function stream(endpoint: McpEndpoint, begun: Session2025, signal: AbortSignal): Promise<Finding> {
  const step = "stream";
  try {
    const opened = await openStream(endpoint, { headers: sessionHeaders(begun) }, { signal });
    closeAnswer(opened);
    return ok(step, "a GET in the session is answered with a stream");
  } catch (error) {
    if (!(error instanceof McpFault)) throw error;
    if (httpStatusOf(error.fault) === 405) {
      return note(step, "there is none (405)", "Clients work without; they do not hear that a list has changed.");
    }
    const mend = "A proxy between may hold streams back or refuse GET: text/event-stream must pass, unbuffered.";
    return failed(step, describeFault(error.fault), mend);
  }
}

async function era2026(endpoint: McpEndpoint, signal: AbortSignal): Promise<Finding> {
  const step = "server/discover";
  const client = { endpoint, about: ABOUT_2026, nextId: nextRequestId };
  try {
    const asked = await ask2026(client, { method: "server/discover", params: {} }, { signal });
    const { supportedVersions } = resultOf(asked) ?? {};
    const versions = Array.isArray(supportedVersions) ? supportedVersions : [];
    if (!versions.includes(REVISION_2026)) return skipped(step, `${REVISION_2026} is not served`);
    return ok(step, versions.join(", "));
  } catch (error) {
    return skipped(step, `${REVISION_2026} is not served: ${mcpReason(error, endpoint)}`);
  }
}

/** Read as a gateway of ours reads an upstream: what it would leave out breaks the list of some client. */
async function lists(endpoint: McpEndpoint, server: string, signal: AbortSignal): Promise<Finding[]> {
  let events = 0;
  const skip = () => {
    events += 1;
  };
  const step = "tools/list";
  let link: UpstreamLink | undefined;
  try {
    link = await surveyLink({ endpoint: { ...endpoint, skipped: skip }, about: ABOUT_2026 }, undefined, { signal });
    const reasonOf = (fault: Fault) => mcpReason(new McpFault(fault), endpoint);
    const asked = link;
    const missing = new Map<string, string>();
    const asking: UpstreamLink["ask"] = async (...args) => {
      const message = await asked.ask(...args);
      for (const { source, why } of lacksOfList(resultOf(message) ?? {})) missing.set(source, why);
      return message;
    };
    const catalog = await readCatalog(
      { ...link, ask: asking },
      { id: "x", of: "", withinMs: WITHIN_MS, signal, reasonOf },
    );
    const tools = catalog.texts.tools.map((text) => JSON.parse(text) as JsonObject);
    return [
      ...listed(catalog, tools.length),
      ...leftOut(catalog, events),
      ...lacking(missing),
      ...judgeTools(tools, server),
    ];
  } catch (error) {
    if (!link) return [skipped(step, "neither era can be spoken")];
    const mend = "Clients show this as a server without tools. Its log says more than it tells.";
    return [failed(step, mcpReason(error, endpoint), mend)];
  } finally {
    await link?.close();
  }
}

function listed({ way, unread = [] }: UpstreamCatalog, tools: number): Finding[] {
  if (unread.includes("tools")) return [];
  const over = way === "http-sse" ? ", over HTTP+SSE" : "";
  if (tools > 0) return [ok("tools/list", count(tools, "tool") + over)];
  const mend = "Where there should be some: tenantry explain TENANT tool NAME says why one is not seen.";
  return [note("tools/list", `no tools are visible here${over}`, mend)];
}

/** Upstreams that a tenant's list calls degraded or unread. */
function lacking(missing: ReadonlyMap<string, string>): Finding[] {
  const mend = "tenantry upstream test TENANT UPSTREAM says what is wrong, and what helps.";
  return Array.from(missing, ([source, why]) => note("upstreams", `${source}: ${why}`, mend));
}

/** What does not come of what the server has. */
function leftOut({ capped = "", unread = [], quarantined, unnamed }: UpstreamCatalog, events: number): Finding[] {
  const findings: Finding[] = [];
  if (unread.length > 0) {
    const step = unread.includes("tools") ? "tools/list" : "lists";
    findings.push(failed(step, capped, "The server's log says more. Clients have its other lists."));
  } else if (capped !== "") findings.push(note("lists", capped, "A gateway reads no more: docs/gateway.md."));
  const [first] = quarantined;
  if (first) {
    const definitions = count(quarantined.length + unnamed, "definition");
    const mend = "Mend it: some clients refuse the whole list for one.";
    findings.push(failed("definitions", `${definitions} that clients refuse: ${first.name}: ${first.why}`, mend));
  }
  if (events > 0) {
    const said = `${count(events, "event")} of its streams without an MCP message: clients skip them`;
    findings.push(note("events", said, "Send heartbeats as comments: lines that begin with a colon."));
  }
  return findings;
}
