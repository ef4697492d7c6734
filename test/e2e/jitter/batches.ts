// The check of batches: whatever fails while one runs, each of its requests is answered once, under its own id, and no
// error is nobody's.

import { makeTenant, type Check, type Played, type Scene } from "./check.ts";
import type { Draws } from "./draws.ts";
import { client2025, type Json } from "../../support/mcp-client.ts";
import { sized } from "../../support/tier.ts";
import { isUnknown } from "./unreliable-workers.ts";

const CLIENTS = 3;
const BATCHES = sized({ usual: 2, long: 3 });

const MEMBERS: readonly { readonly method: string; readonly params?: Json; readonly isTold?: boolean }[] = [
  { method: "ping" },
  { method: "tools/call", params: { name: "lab_echo", arguments: { said: "yes" } } },
  { method: "resources/list" },
  { method: "tools/list" },
  { method: "nothing/here" },
  { method: "notifications/progress", params: { progressToken: "q-1-none", progress: 1 }, isTold: true },
  { method: "notifications/cancelled", params: { requestId: 4711 }, isTold: true },
];

interface Sent {
  readonly jsonrpc: "2.0";
  readonly id?: string;
  readonly method: string;
  readonly params?: Json;
}

/** What it writes tells whether a batch that was refused as a whole has run. */
function batchOf(draws: Draws, uri: string): readonly Sent[] {
  const writes = { method: "tools/call", params: { name: "lab_write", arguments: { uri, text: "batched" } } };
  const members = [writes, ...draws.some(MEMBERS, 0.6)];
  return members.map(({ method, params, isTold }: (typeof MEMBERS)[number], at) => ({
    jsonrpc: "2.0",
    ...(isTold ? {} : { id: `id-${at}` }),
    method,
    ...(params === undefined ? {} : { params }),
  }));
}

interface Refused {
  readonly uri: string;
  readonly what: string;
}

interface Acted {
  readonly violations: readonly string[];
  readonly refused: readonly Refused[];
}

async function act(scene: Scene, draws: Draws, client: number): Promise<Acted> {
  const { workers, tag } = scene;
  const violations: string[] = [];
  const refused: Refused[] = [];
  for (let at = 0; at < BATCHES; at += 1) {
    const worker = draws.below(2);
    const session = draws.chance(0.7) ? await sessionAt(`${workers.origin(worker)}/mcp/${tag}`) : {};
    const uri = `lab://batched/${client}/${at}`;
    const sent = batchOf(draws, uri);
    const headers = { accept: "application/json, text/event-stream", ...session, "content-type": "application/json" };
    const answer = await workers.send(worker, `/mcp/${tag}`, { method: "POST", headers, body: JSON.stringify(sent) });
    if (answer.status === 0) continue;
    const what = `a batch of ${sent.map(({ method }) => method).join()} was answered ${answer.status} ${answer.text.slice(0, 400)}`;
    const told = idsOf(answer.text);
    if (isUnknown(answer) && told === undefined) refused.push({ uri, what });
    else if (told?.toSorted().join() !== sent.flatMap(({ id }) => id ?? []).join()) violations.push(what);
  }
  return { violations, refused };
}

async function sessionAt(url: string): Promise<Readonly<Record<string, string>>> {
  const opened = await client2025(url, "2025-03-26").catch(() => undefined);
  return opened?.headers ?? {};
}

/** Refused as a whole, with one error that has no id: then none of it has run. */
async function hasRun({ workers, tag }: Scene, { uri, what }: Refused): Promise<readonly string[]> {
  const { status } = await workers.insist("GET", `/tenants/${tag}/resources/content?uri=${encodeURIComponent(uri)}`);
  return status === 404 ? [] : [`${what}, and it has run`];
}

/** Of a JSON array of responses, or of one that took its time, each an event of a stream; undefined: it is neither. */
function idsOf(text: string): readonly string[] | undefined {
  const events = text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
  try {
    const answers = JSON.parse(events.length > 0 ? `[${events.join()}]` : text) as unknown;
    if (!Array.isArray(answers)) return undefined;
    const ids = (answers as Json[]).map(({ id }) => id);
    // One error that is nobody's, on a stream.
    return ids.every((id) => typeof id === "string") ? ids : undefined;
  } catch {
    return undefined;
  }
}

async function play(scene: Scene): Promise<Played> {
  await makeTenant(scene, scene.tag);
  const clients = Array.from({ length: CLIENTS }, (_none, client) => client);
  const acted = await scene.stormy(() => Promise.all(clients.map((client) => act(scene, scene.draws.fork(), client))));
  const ran = await Promise.all(acted.flatMap(({ refused }) => refused.map((one) => hasRun(scene, one))));
  return {
    operations: CLIENTS * BATCHES,
    violations: [...acted.flatMap(({ violations }) => violations), ...ran.flat()],
  };
}

export const batches: Check = {
  name: "batches",
  claim: "each request of a batch is answered for itself, whatever fails meanwhile",
  play,
};
