// Rows on what is left of an upstream's answers once they were read: what it says when a session begins, the cursors of its
// lists; and on an answer that takes longer to write anew than to read.

import { gzipSync } from "node:zlib";
import { residentOf } from "../memory.ts";
import { rowOf, type Row } from "../report.ts";
import type { Target } from "../target.ts";
import { neighbourFaults, pathOf, tenantWith } from "./attacked-tenant.ts";
import type { Answer, HostileUpstreams } from "./hostile-upstream.ts";

const MIB = 1024 * 1024;
const SESSIONS = 60;
const LONG_MIB = 6;
/** All of them are 360 MiB; a runtime grows by some, whatever it is asked. */
const MOST_MIB = 160;

/** As few bytes on the way, of which many come out. */
const packed =
  (result: () => string, headers: () => Record<string, string> = () => ({})): Answer =>
  ({ id, response }) => {
    const body = gzipSync(`{"jsonrpc":"2.0","id":${String(id)},"result":${result()}}`, { level: 1 });
    response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip", ...headers() }).end(body);
    return undefined;
  };

export async function keptHellos(target: Target, hostile: HostileUpstreams): Promise<Row> {
  const gaveWay: string[] = [];
  let begun = 0;
  const hello = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"instructions":"${"x".repeat(LONG_MIB * MIB)}"}`;
  const initialize = packed(
    () => hello,
    () => ({ "mcp-session-id": `s${(begun += 1)}` }),
  );
  const up = { url: hostile.at({ initialize }), era: "2025", headers: { "x-who": "{{client:x-who}}" } };
  const tenant = await tenantWith(target, hostile, { ...up, timeoutMs: 30_000 }, { mode: "key" });
  const { token: key } = await target.key(tenant);
  const before = residentOf(target.pid ?? 0);
  for (let at = 0; at < SESSIONS; at += 1) {
    const headers = { "x-who": `who-${at}` };
    const { text } = await target.tool(tenant, "up__go", {}, { key, headers, revision: "2025-11-25" });
    if (!text.includes("went")) gaveWay.push(text.slice(0, 80));
  }
  const grown = Math.round((residentOf(target.pid ?? 0) - before) / MIB);
  if (begun < SESSIONS) gaveWay.push(`only ${begun} sessions began`);
  if (grown > MOST_MIB) gaveWay.push(`workerd grew by ${grown} MiB`);
  const what = `${SESSIONS} sessions of one key, each begun with ${LONG_MIB} MiB`;
  return rowOf("sessions hold what was said at their beginning", what, gaveWay, `workerd grew by ${grown} MiB`);
}

const DENSE_CALLS = 6;
/** Parsed, one takes 100 MiB. */
const DENSE = `[${"[[[[{}]]]],".repeat(600_000)}0]`;

/** For clients of another era, to whom results are written anew. */
export async function denseAnswers(target: Target, hostile: HostileUpstreams): Promise<Row> {
  const gaveWay: string[] = [];
  let large = '"plain"';
  const call: Answer = packed(() => `{"content":[],"structuredContent":{"a":${large}}}`);
  const up = { url: hostile.at({ "tools/call": call }), era: "2025", timeoutMs: 30_000 };
  const tenant = await tenantWith(target, hostile, up);
  const beside = await tenantWith(target, hostile, { url: hostile.at() });
  const callsAtOnce = () =>
    Promise.all(
      Array.from({ length: DENSE_CALLS }, () => target.tool(tenant, "up__go", {}, { revision: "2026-07-28" })),
    );
  // Of as many bytes: a runtime grows by those, whatever they are.
  large = JSON.stringify("x".repeat(DENSE.length));
  for (const { text } of await callsAtOnce()) if (!text.includes("xxx")) gaveWay.push(`long: ${text.slice(0, 80)}`);
  const before = residentOf(target.pid ?? 0);
  large = DENSE;
  let most = 0;
  let tooLarge = 0;
  for (let round = 0; round < 3; round += 1) {
    const [answers, faults] = await Promise.all([callsAtOnce(), neighbourFaults(target, beside)]);
    gaveWay.push(...faults);
    for (const { text } of answers) {
      // Where the memory for answers is taken by the others, one is refused before it is parsed.
      const refused = text.includes("objects and lists") || text.includes("Temporarily unavailable");
      if (!refused) gaveWay.push(`dense: ${text.slice(0, 120)}`);
      if (text.includes("objects and lists")) tooLarge += 1;
    }
    most = Math.max(most, residentOf(target.pid ?? 0) - before);
  }
  const grown = Math.round(most / MIB);
  if (tooLarge === 0) gaveWay.push("none was told as too large");
  if (grown > MOST_MIB) gaveWay.push(`workerd grew by ${grown} MiB`);
  const what = `${DENSE_CALLS} results at once, each 6 MiB of empty lists`;
  return rowOf("what is parsed of an answer", what, gaveWay, `each is refused; workerd grew by ${grown} MiB`);
}

export async function longCursors(target: Target, hostile: HostileUpstreams): Promise<Row> {
  const gaveWay: string[] = [];
  let pages = 0;
  const long = "x".repeat(4 * MIB);
  const list = packed(() => `{"resultType":"complete","tools":[],"nextCursor":"${(pages += 1)}${long}"}`);
  const tenant = await tenantWith(target, hostile, { url: hostile.at({ "tools/list": list }), timeoutMs: 30_000 });
  gaveWay.push(...(await neighbourFaults(target, tenant)));
  const { text } = await target.admin("GET", pathOf(tenant, "up"));
  if (!text.includes("has a cursor of more than")) gaveWay.push(`it is shown as ${text.slice(0, 120)}`);
  if (pages > 4) gaveWay.push(`${pages} pages were read`);
  return rowOf("cursors of 4 MiB", "a list with no end", gaveWay, `${pages} were read, and it is said`);
}

export async function saidOften(target: Target, hostile: HostileUpstreams): Promise<Row> {
  const gaveWay: string[] = [];
  const often = `{"resultType":"complete","content":[],${'"cacheScope":"public",'.repeat(60_000)}"ttlMs":0}`;
  const url = hostile.at({ "tools/call": packed(() => often) });
  const tenant = await tenantWith(target, hostile, { url, era: "2026", timeoutMs: 30_000 }, { mode: "key" });
  const { token: key } = await target.key(tenant);
  const beside = await tenantWith(target, hostile, { url: hostile.at() });
  const [answer, faults] = await Promise.all([
    target.tool(tenant, "up__go", {}, { key }),
    neighbourFaults(target, beside),
  ]);
  gaveWay.push(...faults);
  if (answer.text.includes('"public"')) gaveWay.push("it says that it may be shared");
  if (answer.ms > 10_000) gaveWay.push(`it took ${Math.round(answer.ms)} ms`);
  const seen = `answered in ${Math.round(answer.ms)} ms, private each time; others were served`;
  return rowOf("an answer that says 60,000 times for whom it is", "1 MiB in a few KiB, to a key", gaveWay, seen);
}
