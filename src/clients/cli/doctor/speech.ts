// Owns what a client meets once it is let in: a session of era 2025 and its stream, era 2026, and the lists.

import { ask2025, ask2026 } from "../../../mcp-client/ask.ts";
import { openStream } from "../../../mcp-client/exchange.ts";
import { describeFault, httpStatusOf, McpFault } from "../../../mcp-client/fault.ts";
import { closeAnswer } from "../../../mcp-client/http-answer.ts";
import { resultOf } from "../../../mcp-client/message.ts";
import { request2025 } from "../../../mcp-client/outgoing.ts";
import { sessionHeaders, type Session2025 } from "../../../mcp-client/session-2025.ts";
import { open2025, streamable2025 } from "../../../mcp-client/streamable-2025.ts";
import { REVISION_2026 } from "../../../protocol/era.ts";
import { isObject, type JsonObject } from "../../../protocol/jsonrpc.ts";
import { nextRequestId, type McpEndpoint } from "../mcp-endpoint.ts";
import { mcpReason } from "../terminal/mcp-problem.ts";
import { count } from "../terminal/table.ts";
import { judgeTools } from "./definitions.ts";
import { failed, note, ok, skipped, type Finding } from "./finding.ts";
import { ABOUT_2026, endQuietly, HELLO_2025 } from "./round-trips.ts";

/** Asks for a page of tools. */
type Lister = (params: JsonObject) => Promise<JsonObject | undefined>;

const MAX_LIST_PAGES = 100;
const NO_PROFILE = "Is the profile's name right, behind that of the tenant? tenantry tenant show TENANT lists them.";
const OLD_CLIENTS = "Clients of the revisions up to 2025-11-25 cannot connect: most of those that are in use.";

/** `server`: what a client calls the endpoint. */
export async function speech(endpoint: McpEndpoint, server: string, signal: AbortSignal): Promise<Finding[]> {
  const { findings: newest, list: list2026 } = await era2026(endpoint, signal);
  const begun = await session(endpoint, signal);
  const findings = [...begun.findings];
  if (begun.session !== undefined) findings.push(await stream(endpoint, begun.session, signal));
  findings.push(...newest);
  const list = list2026 ?? (begun.session && lister2025(endpoint, begun.session, signal));
  findings.push(...(await tools(endpoint, list, server)));
  if (begun.session !== undefined) await endQuietly(endpoint, begun.session);
  return findings;
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
    const isNowhere = error instanceof McpFault && httpStatusOf(error.fault) === 404;
    return { findings: [failed(step, mcpReason(error, endpoint), isNowhere ? NO_PROFILE : OLD_CLIENTS)] };
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

async function era2026(
  endpoint: McpEndpoint,
  signal: AbortSignal,
): Promise<{ readonly findings: readonly Finding[]; readonly list?: Lister }> {
  const step = "server/discover";
  const client = { endpoint, about: ABOUT_2026, nextId: nextRequestId };
  try {
    const asked = await ask2026(client, { method: "server/discover", params: {} }, { signal });
    const { supportedVersions } = resultOf(asked) ?? {};
    const versions = Array.isArray(supportedVersions) ? supportedVersions : [];
    if (!versions.includes(REVISION_2026)) return { findings: [skipped(step, `${REVISION_2026} is not served`)] };
    const list: Lister = async (params) =>
      resultOf(await ask2026(client, { method: "tools/list", params }, { signal }));
    return { findings: [ok(step, versions.join(", "))], list };
  } catch (error) {
    return { findings: [skipped(step, `${REVISION_2026} is not served: ${mcpReason(error, endpoint)}`)] };
  }
}

function lister2025(endpoint: McpEndpoint, begun: Session2025, signal: AbortSignal): Lister {
  const client = { channel: streamable2025(endpoint, begun), clock: endpoint.clock };
  return async (params) => {
    const request = request2025({ id: nextRequestId(), method: "tools/list", params });
    return resultOf(await ask2025(client, request, { signal }));
  };
}

async function tools(endpoint: McpEndpoint, list: Lister | undefined, server: string): Promise<Finding[]> {
  const step = "tools/list";
  if (list === undefined) return [skipped(step, "neither era can be spoken")];
  try {
    const listed = await all(list);
    if (listed.length === 0) {
      const mend = "Where there should be some: tenantry explain TENANT tool NAME says why one is not seen.";
      return [note(step, "no tools are visible here", mend)];
    }
    return [ok(step, count(listed.length, "tool")), ...judgeTools(listed, server)];
  } catch (error) {
    const mend = "Clients show this as a server without tools. Its log says more than it tells.";
    return [failed(step, mcpReason(error, endpoint), mend)];
  }
}

async function all(list: Lister): Promise<JsonObject[]> {
  const listed: JsonObject[] = [];
  let cursor: unknown;
  for (let page = 0; page < MAX_LIST_PAGES; page += 1) {
    const result = await list(cursor === undefined ? {} : { cursor });
    // One by one: a page may have more than a call takes arguments.
    for (const tool of Array.isArray(result?.tools) ? result.tools : []) if (isObject(tool)) listed.push(tool);
    cursor = result?.nextCursor;
    if (cursor === undefined) break;
  }
  return listed;
}
