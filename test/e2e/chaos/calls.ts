// The check of plain calls of both eras: what a tool stored is there when its answer came, progress comes in order and
// once, sessions are there until they are ended, and not after.

import { setTimeout as pause } from "node:timers/promises";
import { makeTenant, type Check, type Played, type Scene } from "../jitter/check.ts";
import type { Draws } from "../jitter/draws.ts";
import { client2025, client2026, post, type Client, type Json, type Reply } from "../../support/mcp-client.ts";
import { sized } from "../../support/tier.ts";

const CLIENTS = 4;
const CALLS = sized({ usual: 16, long: 60 });
const STEPS = 5;
/** What a resource is that there is not. */
const ABSENT = "absent";

interface Load {
  readonly scene: Scene;
  readonly draws: Draws;
  readonly at: number;
  readonly violations: string[];
  /** By URI, of which nobody else writes: what it may be in the end. */
  readonly written: Map<string, readonly string[]>;
  operations: number;
}

const READS: readonly (readonly [method: string, params: Json])[] = [
  ["tools/list", {}],
  ["resources/list", {}],
  ["resources/templates/list", {}],
  ["prompts/list", {}],
  ["tools/call", { name: "lab_echo", arguments: { said: "yes" } }],
  ["tools/call", { name: "lab_list", arguments: { prefix: "lab://chaos/" } }],
  ["resources/read", { uri: "lab://square/12" }],
  [
    "completion/complete",
    { ref: { type: "ref/prompt", name: "lab_letter" }, argument: { name: "flower", value: "a" } },
  ],
];

const textOf = ({ result }: Reply) => (result["content"] as { text: string }[] | undefined)?.[0]?.text;
const isDone = (reply: Reply | undefined) =>
  reply !== undefined &&
  reply.status === 200 &&
  "result" in (reply.messages.at(-1) ?? {}) &&
  reply.result["isError"] !== true;

/** Until there is a client: in era 2025 a session, at either Worker. */
async function connect({ scene: { workers, tag }, draws, at }: Load): Promise<Client> {
  for (;;) {
    const url = `${workers.origin(draws.below(2))}/mcp/${tag}`;
    const client =
      at % 2 === 0 ? client2026(url, {}, { progressToken: "token" }) : await client2025(url).catch(() => undefined);
    if (client) return client;
    await pause(50);
  }
}

async function write(load: Load, client: Client): Promise<void> {
  const uri = `lab://chaos/${load.at}/${load.draws.below(4)}`;
  const text = `${load.operations}`;
  const before = load.written.get(uri) ?? [ABSENT];
  const params = { name: "lab_write", arguments: { uri, text } };
  const reply = await client.request("tools/call", params).catch(() => undefined);
  if (reply?.status === 200 && reply.id === undefined)
    load.violations.push(`${client.era}: the answer to ${uri} ended without a response: ${reply.text}`);
  // What was acknowledged is what there is; what failed may have been done.
  load.written.set(uri, isDone(reply) ? [text] : [...before, text]);
  if (isDone(reply)) await readBack(load, client, uri, text);
}

async function readBack({ violations }: Load, client: Client, uri: string, text: string): Promise<void> {
  const found = await client.request("resources/read", { uri }).catch(() => undefined);
  if (!found) return;
  const [content] = (found.result["contents"] ?? []) as { text: string }[];
  const isOther = isDone(found) && content?.text !== text;
  if (isOther || isAbsent(found))
    violations.push(`${client.era}: ${uri} is ${found.text} where ${text} was acknowledged`);
}

const isAbsent = ({ error }: Reply) => error?.code === -32002 || error?.code === -32602;

async function steps(load: Load, client: Client): Promise<void> {
  const progressToken = `steps-${load.operations}`;
  const params = { name: "lab_steps", arguments: { steps: STEPS, everyMs: 20 }, _meta: { progressToken } };
  const reply = await client.request("tools/call", params).catch(() => undefined);
  if (!reply || !isDone(reply)) return;
  const notifications = reply.messages
    .filter(({ method }) => method === "notifications/progress")
    .map(({ params: of }) => (of as Json)["progress"]);
  if (notifications.join() !== "1,2,3,4,5")
    load.violations.push(`${client.era}: of five steps came ${notifications.join()}`);
  if (textOf(reply) !== "5 steps") load.violations.push(`${client.era}: five steps ended with ${textOf(reply)}`);
}

async function read(load: Load, client: Client): Promise<void> {
  const [method, params] = load.draws.pick(READS);
  const reply = await client.request(method, params).catch(() => undefined);
  if (reply?.error && reply.error.code !== -32603)
    load.violations.push(`${client.era} ${method} ${JSON.stringify(params)}: ${reply.status} ${reply.text}`);
}

/** Ends its session, after which it is not found; gives the next one. */
async function renew(load: Load, client: Client): Promise<Client> {
  const { scene, draws, at } = load;
  if (client.era === "2026") return client;
  const url = `${scene.workers.origin(draws.below(2))}/mcp/${scene.tag}`;
  await client.request("logging/setLevel", { level: "warning" }).catch(() => {});
  const answer = await fetch(url, { method: "DELETE", headers: client.headers }).catch(() => undefined);
  await answer?.text();
  if (answer?.ok) {
    // Where it was ended, at once; elsewhere a lease from before may still hold.
    const ping = { jsonrpc: "2.0", id: "late", method: "ping" };
    const late = await post(url, ping, { headers: { ...client.headers } }).catch(() => undefined);
    if (late && late.status < 500 && late.status !== 404)
      load.violations.push(
        `client ${at}: a ping after the end of its session was answered ${late.status} ${late.text}`,
      );
  }
  return connect(load);
}

async function act(load: Load): Promise<void> {
  let client = await connect(load);
  for (let at = 0; at < CALLS; at += 1) {
    load.operations += 1;
    const chance = load.draws.unit();
    if (chance < 0.3) await write(load, client);
    else if (chance < 0.45) await steps(load, client);
    else if (chance < 0.53) client = await renew(load, client);
    else await read(load, client);
  }
}

async function judge({ scene: { workers, tag }, written, violations }: Load): Promise<void> {
  for (const [uri, values] of written) {
    const path = `/tenants/${tag}/resources/content?uri=${encodeURIComponent(uri)}`;
    const { status, text } = await workers.insist("GET", path);
    const is = status === 404 ? ABSENT : text;
    if (!values.includes(is)) violations.push(`${uri} is ${status} ${text} in the end, of ${values.join()}`);
  }
}

async function play(scene: Scene): Promise<Played> {
  await makeTenant(scene, scene.tag);
  const loads = Array.from({ length: CLIENTS }, (_none, at): Load => {
    return { scene, draws: scene.draws.fork(), at, violations: [], written: new Map(), operations: 0 };
  });
  await scene.stormy(() => Promise.all(loads.map(act)));
  await Promise.all(loads.map(judge));
  return {
    operations: loads.reduce((sum, { operations }) => sum + operations, 0),
    violations: loads.flatMap(({ violations }) => violations),
  };
}

export const calls: Check = {
  name: "calls",
  claim: "what was acknowledged is there, progress comes in order and once, and ended sessions are over",
  play,
};
