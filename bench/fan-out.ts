// How long one change takes to reach a thousand streams that one isolate holds: from sending the write, and where a change
// of policy is told when it is in force, from the first stream that hears of it.
import { Agent, request } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { spread } from "./measure.ts";
import type { Spread } from "./measure.ts";
import type { Running } from "./runtime.ts";
import { ADMIN_TOKEN, request2026 } from "./scenarios.ts";

export const STREAMS = 1000;
/** Milliseconds, of the design; on a machine that does nothing else. */
export const FAN_OUT_BUDGET_MS = 400;
const OPENED_AT_ONCE = 50;
const URI = "note:fan-out";

export interface FanOut {
  name: string;
  budgetMs: number;
  millis: Spread;
}

export interface FanOutCase {
  name: string;
  /** How long a lease of the tenant lasts. */
  maxStalenessMs: number;
  method: string;
  change: (admin: Admin, round: number) => Promise<void>;
  from: "the write" | "the first";
}

type Admin = (method: string, path: string, body: string) => Promise<number>;

const write: FanOutCase["change"] = async (admin, round) => {
  const status = await admin("PUT", `/resources/content?uri=${encodeURIComponent(URI)}`, `text ${round}`);
  if (status !== 200 && status !== 201) throw new Error(`a write was answered ${status}`);
};
const forbid: FanOutCase["change"] = async (admin, round) => {
  const tools = { add: { enabled: round % 2 === 0 } };
  const document = JSON.stringify({ mode: "open", maxStalenessMs: 50, tools });
  const status = await admin("PUT", "/document", document);
  if (status !== 200) throw new Error(`a change of policy was answered ${status}`);
};

const UPDATED = "notifications/resources/updated";
const TOOLS = "notifications/tools/list_changed";

export const FAN_OUT_CASES: FanOutCase[] = [
  { name: "one write", maxStalenessMs: 60_000, method: UPDATED, change: write, from: "the write" },
  { name: "one write, no lease held", maxStalenessMs: 50, method: UPDATED, change: write, from: "the write" },
  { name: "one change of policy", maxStalenessMs: 50, method: TOOLS, change: forbid, from: "the first" },
];

/** `rounds` changes, one after the other, each told to every stream once. */
export async function measureFanOut({ url }: Running, one: FanOutCase, rounds: number): Promise<FanOut> {
  const tenant = `fan-out-${FAN_OUT_CASES.indexOf(one)}`;
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  const admin = adminOf(agent, url, tenant);
  const document = { mode: "open", maxStalenessMs: one.maxStalenessMs };
  await admin("POST", "", JSON.stringify({ id: tenant, document }));
  const streams: Stream[] = [];
  try {
    while (streams.length < STREAMS) {
      const more = Array.from({ length: OPENED_AT_ONCE }, () => openStream(agent, url, `/mcp/${tenant}`));
      streams.push(...(await Promise.all(more)));
    }
    const millis: number[] = [];
    // The first makes the resource, fills caches and compiles what it meets.
    for (let round = 0; round <= rounds; round += 1) {
      const told = streams.map((stream) => stream.told(one.method));
      const sent = performance.now();
      await one.change(admin, round + 1);
      const times = await Promise.all(told);
      const first = times.reduce((least, time) => Math.min(least, time), Infinity);
      const last = times.reduce((most, time) => Math.max(most, time), 0);
      if (round > 0) millis.push(last - (one.from === "the first" ? first : sent));
    }
    return { name: one.name, budgetMs: FAN_OUT_BUDGET_MS, millis: spread(millis) };
  } finally {
    for (const { sent } of streams) sent.destroy();
    agent.destroy();
  }
}

function adminOf(agent: Agent, url: URL, tenant: string): Admin {
  return async (method, path, body) => {
    const type = path.startsWith("/resources") ? "text/plain" : "application/json";
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": type };
    const at = new URL(`/admin/v1/tenants${path === "" ? "" : `/${tenant}${path}`}`, url);
    const sent = request(at, { agent, method, headers });
    const answered = responseTo(sent);
    sent.end(body);
    const response = await answered;
    response.resume();
    return response.statusCode ?? 0;
  };
}

interface Stream {
  sent: ClientRequest;
  /** When the next notification of this method was read. */
  told: (method: string) => Promise<number>;
}

/** It listens: what it asked for is acknowledged. */
export async function openStream(agent: Agent, url: URL, path: string): Promise<Stream> {
  const notifications = { toolsListChanged: true, resourceSubscriptions: [URI] };
  const { headers, body } = request2026(1, "subscriptions/listen", { notifications }, { path });
  const sent = request(new URL(path, url), { agent, method: "POST", headers });
  const answered = responseTo(sent);
  sent.end(body);
  const response = await answered;
  if (response.statusCode !== 200) throw new Error(`a stream was answered ${response.statusCode}`);
  let text = "";
  let look = (): void => {};
  response.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    look();
  });
  const arrival: Stream["told"] = (method) =>
    new Promise((resolve) => {
      look = () => {
        if (!text.includes(`"${method}"`)) return;
        text = "";
        look = () => {};
        resolve(performance.now());
      };
      look();
    });
  await arrival("notifications/subscriptions/acknowledged");
  return { sent, told: arrival };
}

function responseTo(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.on("response", resolve);
    // A stream is torn down at the end.
    sent.on("error", reject);
  });
}
