// What upstreams make the isolate hold that begin to answer and stop: 100 calls at once, of several tenants, each with half
// of a large answer, while others are served; and what is left of answers that ended. Only for a target of our own, on Linux.

import { setTimeout as pause } from "node:timers/promises";
import { residentOf } from "../memory.ts";
import { rowOf, type Attack, type Row } from "../report.ts";
import { REVISIONS, type Target } from "../target.ts";
import { neighbourFaults, tenantWith, sendEnvelope } from "./attacked-tenant.ts";
import { denseAnswers, keptHellos, longCursors, saidOften } from "./stored-answers.ts";
import { eraOf, HostileUpstreams, textResult, type Answer, type Behaviour } from "./hostile-upstream.ts";

const MIB = 1024 * 1024;
const TENANTS = 4;
const STALLED = 100;
const HALF_MIB = 4;
/** All answers together are 400 MiB; an isolate holds 64 of them, and its runtime some more. */
const MOST_MIB = 220;
const TIMEOUT_MS = 6000;

export const upstreamMemory: Attack = {
  name: "upstream memory",
  classes: ["small input, large work", "one object in everybody's way"],
  isAlone: true,
  run: async (target) => {
    if (target.pid === undefined || process.platform !== "linux") return [];
    const hostile = await HostileUpstreams.start();
    try {
      return [
        await stalled(target, hostile, { what: "as JSON", type: "application/json", begin: "" }),
        await stalled(target, hostile, { what: "as an event", type: "text/event-stream", begin: "data: " }),
        await keptHellos(target, hostile),
        await denseAnswers(target, hostile),
        await longCursors(target, hostile),
        await saidOften(target, hostile),
      ];
    } finally {
      await hostile.stop();
    }
  },
};

/** The process takes memory from the kernel for these, and uses it again for what the row counts. */
async function readLongAnswers(target: Target, hostile: HostileUpstreams): Promise<void> {
  const text = "x".repeat(HALF_MIB * MIB);
  const answer: Answer = () => textResult(text);
  const tenant = await tenantWith(target, hostile, { url: hostile.at({ "tools/call": answer }), timeoutMs: 30_000 });
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(Array.from({ length: 8 }, () => target.tool(tenant, "up__go", {})));
  }
}

interface MemoryReport {
  readonly what: string;
  readonly type: string;
  readonly begin: string;
}

async function stalled(target: Target, hostile: HostileUpstreams, { what, type, begin }: MemoryReport): Promise<Row> {
  const gaveWay: string[] = [];
  const half = Buffer.alloc(HALF_MIB * MIB, "x");
  const behaviour: Behaviour = {
    "tools/call": ({ id, response }) => {
      response.writeHead(200, { "content-type": type });
      response.write(`${begin}{"jsonrpc":"2.0","id":${String(id)},"result":{"content":[{"type":"text","text":"`);
      response.write(half);
      return undefined;
    },
  };
  const tenants: string[] = [];
  for (let at = 0; at < TENANTS; at += 1) {
    const era = eraOf(REVISIONS[at % REVISIONS.length] ?? REVISIONS[0]);
    tenants.push(await tenantWith(target, hostile, { url: hostile.at(behaviour), era, timeoutMs: TIMEOUT_MS }));
  }
  const beside = await tenantWith(target, hostile, { url: hostile.at() });
  await readLongAnswers(target, hostile);
  const before = residentOf(target.pid ?? 0);
  const waiting = new Set(Array.from({ length: STALLED }, (_none, at) => at));
  let slowest = 0;
  const calls = [...waiting].map(async (at) => {
    const tenant = tenants[at % TENANTS] ?? "";
    const { status, json, text, ms } = await (at % 8 < 4
      ? target.tool(tenant, "up__go", {})
      : sendEnvelope(target, tenant, ["tools/call", { name: "go", arguments: {} }], { server: "up" }));
    waiting.delete(at);
    slowest = Math.max(slowest, ms);
    if (json.error === undefined || status >= 600) gaveWay.push(`a call ended with ${status} ${text.slice(0, 80)}`);
  });
  let most = 0;
  for (let at = 0; waiting.size > 0 && at < 100; at += 1) {
    await pause(200);
    most = Math.max(most, residentOf(target.pid ?? 0) - before);
    if (at % 5 === 2) gaveWay.push(...(await neighbourFaults(target, beside)));
  }
  await Promise.all(calls);
  // What was held is given back: the same tenant has large answers again, and its neighbours small ones.
  for (const tenant of [...tenants, beside]) gaveWay.push(...(await neighbourFaults(target, tenant)));
  const grown = Math.round(most / MIB);
  if (grown > MOST_MIB) gaveWay.push(`workerd grew by ${grown} MiB`);
  if (slowest > 3 * TIMEOUT_MS) gaveWay.push(`a call took ${Math.round(slowest)} ms`);
  return rowOf(
    "half answers hold memory",
    `${STALLED} calls in ${TENANTS} tenants, ${HALF_MIB} MiB of each answer ${what}, and no end`,
    gaveWay,
    `workerd grew by ${grown} MiB; the slowest call took ${Math.round(slowest)} ms; others were served`,
  );
}
