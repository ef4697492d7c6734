// What unfinished and unread connections hold of the isolate's memory, seen from outside: the resident size of workerd.
// Only for a target of our own, on Linux. Bodies are sent to a Worker without the development server in front of it, which reads
// all of a body whatever the Worker does.

import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { request, type ClientRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { residentOf as residentMiB, startedWorkers } from "../../test/support/process-memory.ts";
import { readModules, startWorker, writeBundle } from "../../test/support/start-worker.ts";
import { rowOf, type Attack, type Row } from "./report.ts";
import { didIt, written, type Target } from "./target.ts";

const MEBIBYTE = 1024 * 1024;
const STALLED = 40;
const MOST_MIB = 64;
const DEADLINE_MS = 31_000;

export const memory: Attack = {
  name: "memory",
  classes: ["small input, large work", "a check before the last wait"],
  isAlone: true,
  run: async (target) => {
    if (target.pid === undefined || process.platform !== "linux") return [];
    return [
      ...(await manyBodies()),
      ...(await unfinishedBodies()),
      await unreadStreams(target, await tenantWithLargeNote(target), target.pid),
    ];
  },
};

/** Of an isolate of the platform. */
const HEAP_MIB = 128;

interface Bodies {
  readonly what: string;
  readonly count: number;
  /** Of each, as JSON. */
  readonly members: string;
  readonly statuses: readonly number[];
}

const emptyLists = (pieces: number) => `[${"[[[[{}]]]],".repeat(pieces)}0]`;

const TEXT = "x".repeat(3_999_990);

/** As anybody may send them; JSON.parse makes fifteen times their bytes of empty lists. What has no room may come again. */
const BODIES: readonly Bodies[] = [
  { what: "empty lists", count: 8, members: emptyLists(360_000), statuses: [400] },
  // As many as may be in one.
  { what: "empty lists", count: 150, members: emptyLists(19_900), statuses: [200, 503] },
  { what: "text", count: 40, members: `"${TEXT}"`, statuses: [200, 503] },
  // One such character doubles the memory of all the others.
  { what: "text with an emoji", count: 40, members: `"${TEXT}😀"`, statuses: [200, 503] },
  { what: "text with an escape", count: 40, members: `"${TEXT}\\u20ac"`, statuses: [200, 503] },
];

async function manyBodies(): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), "tenantry-attack-"));
  await writeBundle("demo-worker", "production", folder);
  const modules = await readModules(folder, "demo-worker.js");
  await rm(folder, { recursive: true });
  const rows: Row[] = [];
  for (const bodies of BODIES) {
    const worker = await startWorker(modules, { heap: HEAP_MIB });
    try {
      rows.push(await survived(worker.origin, bodies));
    } finally {
      await worker.stop();
    }
  }
  return rows;
}

async function survived(origin: string, { what, count, members, statuses }: Bodies): Promise<Row> {
  const send = async (): Promise<string> => {
    const { headers, body } = written("tools/call", { name: "note_list", arguments: { a: "A" } });
    const init = { method: "POST", headers, body: body.replace('"A"', () => members) };
    const response = await fetch(`${origin}/mcp/demo`, init);
    const text = await response.text();
    return statuses.includes(response.status) ? "" : `${response.status} ${text.slice(0, 80)}`;
  };
  const gaveWay = new Set<string>();
  for (let round = 0; round < 3; round += 1) {
    const answers = Array.from({ length: count }, () =>
      send().catch((error: Error) => `${error.message}: ${String(error.cause)}`),
    );
    for (const wrong of await Promise.all(answers)) if (wrong !== "") gaveWay.add(wrong);
  }
  const tried = `3 times ${count} bodies of ${Math.round(members.length / 1000)} KB at once, of ${what}`;
  const seen = `each was answered ${statuses.join(" or ")} by an isolate with a heap of ${HEAP_MIB} MiB`;
  return rowOf("5 memory before authentication", tried, [...gaveWay], seen);
}

async function unfinishedBodies(): Promise<Row[]> {
  const before = startedWorkers();
  const folder = await mkdtemp(join(tmpdir(), "tenantry-attack-"));
  await writeBundle("worker", "production", folder);
  const worker = await startWorker(await readModules(folder, "worker.js"));
  try {
    const pid = startedWorkers().find((one) => !before.includes(one)) ?? 0;
    const { headers, body } = written("tools/list", {});
    const guess = async (name: string) => {
      const answer = await fetch(`${worker.origin}/mcp/${name}`, { method: "POST", headers, body });
      await answer.text();
    };
    await guess("nobody");
    if (residentMiB(pid) === 0) throw new Error("nothing is known of its memory");
    const unknown = await stalledBodies(worker.origin, pid, "to unknown tenants");
    // More than an address may guess in a minute: from then on it is refused without a look at what it asks for.
    for (let at = 0; at < 130; at += 1) await guess(`guess-${at}`);
    return [unknown, await stalledBodies(worker.origin, pid, "from an address that guessed too often")];
  } finally {
    await worker.stop();
    await rm(folder, { recursive: true });
  }
}

async function stalledBodies(origin: string, pid: number, which: string): Promise<Row> {
  const before = residentMiB(pid);
  const ended = new Set<ClientRequest>();
  const open = Array.from({ length: STALLED }, (_none, at) => {
    const { headers } = written("tools/list", {});
    const sent = request(`${origin}/mcp/nobody-${at}`, {
      method: "POST",
      headers: { ...headers, "content-length": 4 * MEBIBYTE },
    });
    sent.on("error", () => ended.add(sent));
    sent.on("response", (response) => {
      ended.add(sent);
      response.resume();
    });
    sent.write(Buffer.alloc(4 * MEBIBYTE - 1, " "));
    return sent;
  });
  let most = 0;
  for (let at = 0; at * 500 < DEADLINE_MS; at += 1) {
    await pause(500);
    most = Math.max(most, residentMiB(pid) - before);
    if (ended.size === STALLED) break;
  }
  leave(open);
  const grown = Math.round(most);
  const seen = `${ended.size} of ${STALLED} were ended within ${DEADLINE_MS / 1000} s; workerd grew by ${grown} MiB`;
  return rowOf(
    "5 memory before authentication",
    `${STALLED} POSTs of 4 MiB ${which}, all but a byte`,
    ended.size < STALLED || grown > MOST_MIB ? [seen] : [],
    seen,
  );
}

async function tenantWithLargeNote(target: Target): Promise<string> {
  const tenant = await target.tenant();
  const wrote = await target.tool(tenant, "note_write", { id: "large", title: "large", text: "x".repeat(490_000) });
  if (!didIt(wrote)) throw new Error(`the note was not written: ${wrote.text.slice(0, 200)}`);
  return tenant;
}

/** Streams of HTTP+SSE whose client reads nothing, and has large answers sent to each. */
async function unreadStreams(target: Target, tenant: string, pid: number): Promise<Row> {
  // As many at once by somebody who reads them: the process takes memory from the kernel then, and uses it again afterwards.
  for (let round = 0; round < 3; round += 1) {
    const reading = Array.from({ length: 40 }, () => target.call(tenant, "resources/read", { uri: "note://large" }));
    await Promise.all(reading);
  }
  await pause(1000);
  const before = residentOf(pid);
  const open: ClientRequest[] = [];
  let posted = 0;
  for (let at = 0; at < 3; at += 1) {
    const place = await new Promise<string>((resolve, reject) => {
      const sent = request(`${target.origin}/mcp/${tenant}`, { headers: { accept: "text/event-stream" } });
      open.push(sent);
      sent.on("error", reject);
      sent.on("response", (response) => {
        let head = "";
        response.on("data", (chunk: Buffer) => {
          head += chunk.toString();
          const endpoint = /data: (\S+)\n/.exec(head)?.[1];
          if (endpoint === undefined) return;
          response.pause();
          resolve(endpoint);
        });
      });
      sent.end();
    });
    const path = new URL(place, target.origin);
    const post = (body: unknown) =>
      target.send(`${path.pathname}${path.search}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const clientInfo = { name: "attack", version: "1" };
    await post({
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: { protocolVersion: "2024-11-05", capabilities: {}, clientInfo },
    });
    const reads = Array.from({ length: 40 }, (_none, id) =>
      post({ jsonrpc: "2.0", id: id + 1, method: "resources/read", params: { uri: "note://large" } }).catch(() => ({
        status: 0,
      })),
    );
    posted += (await Promise.all(reads)).filter(({ status }) => status === 202).length;
  }
  let most = 0;
  for (let at = 0; at < 16; at += 1) {
    await pause(250);
    most = Math.max(most, residentOf(pid) - before);
  }
  leave(open);
  if (posted === 0) throw new Error("no read was taken: nothing was tried");
  const grown = Math.round(most / MEBIBYTE);
  const seen = `${posted} of 120 reads were taken; workerd grew by ${grown} MiB`;
  return rowOf(
    "5 unread streams hold memory",
    "3 streams that read nothing, 40 reads of 490 KB each",
    grown > 2 * MOST_MIB ? [seen] : [],
    seen,
  );
}

function leave(open: readonly ClientRequest[]): void {
  for (const sent of open) sent.on("error", () => {}).destroy();
}

/** Of the largest workerd below this process, in bytes. */
export function residentOf(ancestor: number): number {
  const processes = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap(processOf);
  const below = new Set([ancestor]);
  // Parents have smaller numbers than their children, unless numbers began anew; so look until nothing is added.
  for (let size = 0; size < below.size;) {
    size = below.size;
    for (const { pid, parent } of processes) if (below.has(parent)) below.add(pid);
  }
  const sizes = processes
    .filter(({ pid, name }) => below.has(pid) && name === "workerd")
    .map(({ resident }) => resident);
  return Math.max(0, ...sizes);
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
  readonly resident: number;
}

function processOf(id: string): readonly Process[] {
  try {
    const text = readFileSync(`/proc/${id}/status`, "utf8");
    const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(text)?.[1] ?? "";
    return [
      { pid: Number(id), parent: Number(field("PPid")), name: field("Name"), resident: Number(field("VmRSS")) * 1024 },
    ];
  } catch {
    // It has ended meanwhile.
    return [];
  }
}
