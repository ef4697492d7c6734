// What is asked of a Worker and which answer is right, as a client of each protocol revision would put it.
// Budgets are those of the design, as ratios to the bare Hono Worker.
import { Agent } from "node:http";
import { exchange } from "./measure.ts";
import type { Answer, Exchange, Load } from "./measure.ts";

export interface Scenario {
  name: string;
  budget?: number;
  /** Sends what must come first (an `initialize`, say) and gives the load. */
  prepare: (send: Send, url: URL) => Promise<Load>;
}

export type Send = (wanted: Omit<Exchange, "fault">) => Promise<Answer>;

export const PATH = "/mcp/bench";
export const TEXT_URI = "bench://text";
export const TEXT_LENGTH = 2048;
export const TOOL_COUNT = 20;
/** Of the admin API of the Worker under measurement. */
export const ADMIN_TOKEN = "admin-token-of-the-bench-0123456789";

const client = { name: "bench", version: "1.0.0" };
const meta2026 = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": client,
  "io.modelcontextprotocol/clientCapabilities": {},
};
const json = { "content-type": "application/json" };
const acceptBoth = { ...json, accept: "application/json, text/event-stream" };

interface Message {
  id?: unknown;
  error?: unknown;
  result?: {
    resultType?: string;
    tools?: { name: string }[];
    content?: { type: string; text?: string }[];
    contents?: { uri: string; text?: string }[];
    resources?: { uri: string }[];
    nextCursor?: string;
    structuredContent?: { results?: unknown[] };
  };
}

export type Check = (result: NonNullable<Message["result"]>) => string | undefined;

function ask(n: number, method: string, params: object): string {
  return JSON.stringify({ jsonrpc: "2.0", id: n, method, params });
}

function add(n: number): { name: string; arguments: { a: number; b: number } } {
  return { name: "add", arguments: { a: n, b: 7 } };
}

function isSum(n: number): Check {
  const sum = String(n + 7);
  return ({ content }) => (content?.[0]?.text === sum ? undefined : `expected the text ${sum}`);
}

/** One answer of 200 with this id and result, as JSON or as the last event of a stream. */
export function expecting(n: number, check: Check): Exchange["fault"] {
  return (answer) => {
    if (answer.status !== 200) return "expected status 200";
    const message = parseMessage(answer);
    if (message?.id !== n) return `expected an answer to id ${n}`;
    return message.result === undefined ? "expected a result" : check(message.result);
  };
}

function parseMessage({ headers, body }: Answer): Message | undefined {
  const stream = headers["content-type"]?.startsWith("text/event-stream") === true;
  const text = stream ? body.slice(body.lastIndexOf("data:") + 5) : body;
  try {
    return JSON.parse(text) as Message;
  } catch {
    return undefined;
  }
}

export function request2026(
  n: number,
  method: string,
  params: { name?: string; uri?: string; arguments?: object; notifications?: object; cursor?: string },
  to: { path: string; authorization?: string } = { path: PATH },
): Omit<Exchange, "fault"> {
  const name = params.name ?? params.uri;
  const { path, ...credentials } = to;
  return {
    path,
    headers: {
      ...acceptBoth,
      ...credentials,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(name === undefined ? {} : { "mcp-name": name }),
    },
    body: ask(n, method, { ...params, _meta: meta2026 }),
  };
}

export function complete(check: Check): Check {
  return (result) => (result.resultType === "complete" ? check(result) : `expected resultType "complete"`);
}

export const bareLoad: Load = (n) => ({
  path: PATH,
  headers: json,
  body: ask(n, "tools/call", add(n)),
  fault: expecting(n, isSum(n)),
});

export const load2026: Load = (n) => ({
  ...request2026(n, "tools/call", add(n)),
  fault: expecting(n, complete(isSum(n))),
});

export function list2026(count: number): Load {
  return (n) => ({
    ...request2026(n, "tools/list", {}),
    fault: expecting(
      n,
      complete(({ tools = [] }) => {
        const right = tools.length === count && tools.some((tool) => tool.name === "add");
        return right ? undefined : `expected ${count} tools with \`add\`, got ${tools.length}`;
      }),
    ),
  });
}

export const read2026: Load = (n) => ({
  ...request2026(n, "resources/read", { uri: TEXT_URI }),
  fault: expecting(
    n,
    complete(({ contents }) => {
      const right = contents?.[0]?.uri === TEXT_URI && contents[0].text?.length === TEXT_LENGTH;
      return right ? undefined : `expected ${TEXT_LENGTH} characters of ${TEXT_URI}`;
    }),
  ),
});

/** Calls of a 2025 client without a session, for servers that need none. */
export function load2025(revision: string, session: Record<string, string> = {}, path = PATH): Load {
  const headers = { ...acceptBoth, "mcp-protocol-version": revision, ...session };
  return (n) => ({ path, headers, body: ask(n, "tools/call", add(n)), fault: expecting(n, isSum(n)) });
}

/** Opens a session as the revision asks, then calls in it. */
export async function loadInSession(send: Send, revision: string, path = PATH): Promise<Load> {
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: client };
  const opened = await send({ path, headers: acceptBoth, body: ask(0, "initialize", params) });
  const session = opened.headers["mcp-session-id"];
  if (typeof session !== "string") throw new Error(`initialize gave no session: ${opened.status} ${opened.body}`);
  const headers = { "mcp-protocol-version": revision, "mcp-session-id": session };
  const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
  const { status } = await send({ path, headers: { ...acceptBoth, ...headers }, body });
  if (status !== 202) throw new Error(`notifications/initialized was answered ${status}`);
  return load2025(revision, { "mcp-session-id": session }, path);
}

/** By the admin API of the Worker under measurement. */
export async function create(send: Send, path: string, body: object): Promise<{ token?: string }> {
  const headers = { ...json, authorization: `Bearer ${ADMIN_TOKEN}` };
  const answer = await send({ path: `/admin/v1${path}`, headers, body: JSON.stringify(body) });
  if (answer.status !== 201) throw new Error(`${path} was answered ${answer.status} ${answer.body}`);
  return JSON.parse(answer.body) as { token?: string };
}

/** With limits, and a scope `sums` that grants one tool. */
export async function makeTenant(send: Send, id: string, document: object): Promise<void> {
  const limits = { bodyBytes: 65_536, resources: 1000, resourceBytes: 1_048_576, keys: 10 };
  await create(send, "/tenants", { id, document: { limits, scopes: { sums: { tools: ["add"] } }, ...document } });
}

/** The n-th call of an open tenant. */
export function callTo(n: number, tenant: string): Exchange {
  return {
    ...request2026(n, "tools/call", add(n), { path: `/mcp/${tenant}` }),
    fault: expecting(n, complete(isSum(n))),
  };
}

/** Calls of that tool with a credential. */
export function callAs(path: string, token: string | undefined): Load {
  const to = { path, authorization: `Bearer ${token}` };
  return (n) => ({
    ...request2026(n, "tools/call", add(n), to),
    fault: expecting(n, complete(isSum(n))),
  });
}

/** What comes first is sent to the Worker at `url`. */
export async function loadFor(prepare: Scenario["prepare"], url: URL): Promise<Load> {
  const agent = new Agent();
  try {
    return await prepare(async (wanted) => exchange(agent, url, wanted), url);
  } finally {
    agent.destroy();
  }
}
