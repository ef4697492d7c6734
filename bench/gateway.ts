// What a gateway costs: a call through one upstream next to a Worker that only forwards the bytes, and a list over several
// upstreams next to the same list from code. The upstream is a server in this process, whose CPU nobody counts.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { compare, warmUp } from "./measure.ts";
import type { Comparison, Load, Pace } from "./measure.ts";
import { bindingsOf, bundle, ROOT, start } from "./runtime.ts";
import type { Running } from "./runtime.ts";
import { ADMIN_TOKEN, complete, expecting, loadFor, request2026 } from "./scenarios.ts";
import type { Check, Send } from "./scenarios.ts";
import { CODE, definitionsOf, TOOLS_EACH, UPSTREAMS } from "./upstream-tools.ts";

const ALL_TOOLS = UPSTREAMS.length * TOOLS_EACH;
const TENANT = "bench";
/** One profile for what the upstreams have, one for the same in code. */
const PROFILES = { there: { tools: { allow: ["u*"] } }, code: { tools: { allow: [`${CODE}*`] } } };
const READ_WITHIN_MS = 30_000;
/** The tool of the upstream whose result is large. */
const LARGE = "tool_1";
const LARGE_TEXT = "large ".repeat((4 * 1024 * 1024) / 6);

export interface Gateway {
  running: Running;
  forward: Running;
  stop: () => Promise<void>;
}

export interface GatewayCase {
  name: string;
  budget?: number;
  measure: (gateway: Gateway, pace: Pace) => Promise<Comparison>;
}

const LIST: GatewayCase = {
  name: `gateway: a list of ${ALL_TOOLS} tools, next to code`,
  budget: 1.3,
  measure: measureList,
};

/** `quick` leaves the calls out: their ratios scatter too much in a short run. */
export function gatewayCases(quick: boolean): GatewayCase[] {
  if (quick) return [LIST];
  return [
    { name: "gateway: a call, next to forwarding bytes", budget: 2, measure: callsOf("add", (n) => String(n + 7)) },
    { name: "gateway: a result of 4 MiB, next to forwarding bytes", measure: callsOf(LARGE, () => LARGE_TEXT) },
    LIST,
  ];
}

export async function startGateway(scratch: string): Promise<Gateway> {
  const upstream = await startUpstream();
  const stops = [upstream.stop];
  const stop = async (): Promise<void> => {
    for (const one of stops) await one();
  };
  try {
    const forward = await start(await bundle("workers/forward.ts", scratch), { vars: { UPSTREAM: upstream.url } });
    stops.push(forward.stop);
    const vars = { ADMIN_TOKEN, OUTBOUND_LOCAL: "http://127.0.0.1" };
    const running = await start(await bundle("workers/gateway.ts", scratch), { ...bindingsOf(ROOT), vars });
    stops.push(running.stop);
    await loadFor((send) => fillTenant(send, upstream.url), running.url);
    return { running, forward, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** `textOf`: what the n-th call is answered. */
function callsOf(tool: string, textOf: (n: number) => string): GatewayCase["measure"] {
  return async ({ running, forward }, pace) => {
    const through = { ...running, load: callOf(`${UPSTREAMS[0]}__${tool}`, "there", textOf) };
    const bytes = { ...forward, load: callOf(tool, "", textOf) };
    for (const side of [through, bytes]) await warmUp(side, pace.warmupMs / 2);
    return compare(through, bytes, pace);
  };
}

async function measureList({ running }: Gateway, pace: Pace): Promise<Comparison> {
  const listing = async (profile: string) => loadFor((send) => pagesOf(send, profile), running.url);
  const there = { ...running, load: await listing("there") };
  const code = { ...running, load: await listing("code") };
  for (const side of [there, code]) await warmUp(side, pace.warmupMs / 2);
  return compare(there, code, pace);
}

function callOf(name: string, profile: string, textOf: (n: number) => string): Load {
  const path = `/mcp/${TENANT}/${profile}`;
  return (n) => ({
    ...request2026(n, "tools/call", { name, arguments: { a: n, b: 7 } }, { path }),
    fault: expecting(
      n,
      complete(({ content }) => (content?.[0]?.text === textOf(n) ? undefined : `expected ${textOf(n).slice(0, 100)}`)),
    ),
  });
}

/** Each page of a list in turn. */
async function pagesOf(send: Send, profile: string): Promise<Load> {
  const path = `/mcp/${TENANT}/${profile}`;
  const pages: { cursor?: string; count: number }[] = [];
  for (let cursor: string | undefined; pages.length === 0 || cursor !== undefined;) {
    const asked = cursor === undefined ? {} : { cursor };
    const { body } = await send(request2026(0, "tools/list", asked, { path }));
    const { result } = JSON.parse(body) as { result: { tools: object[]; nextCursor?: string } };
    pages.push({ ...asked, count: result.tools.length });
    cursor = result.nextCursor;
  }
  const listed = pages.reduce((sum, { count }) => sum + count, 0);
  if (listed !== ALL_TOOLS) throw new Error(`${profile} lists ${listed} tools, not ${ALL_TOOLS}`);
  return (n) => {
    const { count, ...asked } = pages[n % pages.length] ?? { count: 0 };
    const right: Check = ({ tools = [] }) => (tools.length === count ? undefined : `expected ${count} tools`);
    return { ...request2026(n, "tools/list", asked, { path }), fault: expecting(n, complete(right)) };
  };
}

/** Resolves when all upstreams were read; the load that it gives is of nobody's interest. */
async function fillTenant(send: Send, url: string): Promise<Load> {
  const upstreams = Object.fromEntries(UPSTREAMS.map((id) => [id, { url, era: "2026" }]));
  const document = { mode: "open", search: false, upstreams, profiles: PROFILES };
  const headers = { "content-type": "application/json", authorization: `Bearer ${ADMIN_TOKEN}` };
  const body = JSON.stringify({ id: TENANT, document });
  const made = await send({ path: "/admin/v1/tenants", headers, body });
  if (made.status !== 201) throw new Error(`a tenant was answered ${made.status} ${made.body}`);
  for (const deadline = performance.now() + READ_WITHIN_MS; performance.now() < deadline;) {
    const load = await pagesOf(send, "there").catch(() => undefined);
    if (load) return load;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the upstreams were not read within ${READ_WITHIN_MS} ms`);
}

interface SentRequest {
  id: unknown;
  method: string;
  params?: { name?: string; arguments?: { a: number; b: number } };
}

async function startUpstream(): Promise<{ url: string; stop: () => Promise<void> }> {
  const cache = { resultType: "complete", ttlMs: 3_600_000, cacheScope: "public" };
  const listed = { ...cache, tools: definitionsOf() };
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { id, method, params } = JSON.parse(body) as SentRequest;
      const { a = 0, b = 0 } = params?.arguments ?? {};
      const sum = params?.name === LARGE ? LARGE_TEXT : String(a + b);
      const results: Record<string, object> = {
        "server/discover": { ...cache, supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
        "tools/list": listed,
        "tools/call": { resultType: "complete", content: [{ type: "text", text: sum }] },
      };
      const answer = JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} });
      response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(answer) });
      response.end(answer);
    });
  });
  server.keepAliveTimeout = 600_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    stop: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
