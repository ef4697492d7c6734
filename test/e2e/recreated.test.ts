// A tenant that is deleted and made again is another one. While every kind of call, stream, upload, parked question and
// admin write is under way, and every call to an object takes up to 400 ms more: nothing of the old one is in the new one,
// and nothing that was acknowledged to the new one is lost. Two Workers over one storage stand for two isolates.

import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { client2026, type Json } from "../support/mcp-client.ts";
import { beginAll, SHARED_URI, type Ended, type Scene } from "./recreation.ts";
import { SEED } from "../support/seed.ts";
import { sized } from "../support/tier.ts";
import { ADMIN_TOKEN, startWorkerPair, type WorkerPair, type WatchedWorker } from "../support/worker-pair.ts";

const ROUNDS = sized({ usual: 1, long: 20, soak: 200 });
const AT_ONCE = sized({ usual: 2, long: 20 });
const DELAY_MS = 400;
/** Up to so long after the new tenant is there, what belongs to the old one comes. */
const LATE_MS = 1500;
const SECRETS_KEY = "c2VjcmV0LWtleS1vZi10aGUtcmVjcmVhdGVkLTAxMjM";

let workers: WorkerPair;
beforeAll(async () => {
  workers = await startWorkerPair({ SECRETS_KEY });
  await Promise.all(workers.both.map((worker, at) => worker.delay(DELAY_MS, SEED.seed + at)));
});
afterAll(() => workers.stop());

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function ask(worker: WatchedWorker, method: string, path: string, body?: Json | string): Promise<Answer> {
  const type = typeof body === "string" ? "text/plain" : "application/json";
  const response = await fetch(`${worker.origin}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, ...(body === undefined ? {} : { "content-type": type }) },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Makes it as soon as the name is free. */
async function made(worker: WatchedWorker, id: string, title: string): Promise<void> {
  const document = { mode: "open", title, search: true, maxStalenessMs: 50 };
  for (;;) {
    const { status, text } = await ask(worker, "POST", "/tenants", { id, document });
    if (status === 201) return;
    if (status !== 409) throw new Error(`${status} ${text}`);
  }
}

/** Acknowledged writes of the new tenant, each with where it must be found. */
async function writeNew({ worker, tenant, mark }: Scene): Promise<string> {
  const path = `/tenants/${tenant}`;
  const done = await Promise.all([
    ask(worker, "PUT", `${path}/resources/content?uri=lab://${mark}/one`, `${mark} one`),
    ask(worker, "PUT", `${path}/resources/content?uri=${SHARED_URI}`, "the same in both"),
    ask(worker, "POST", `${path}/keys`, { name: mark }),
    ask(worker, "PUT", `${path}/secrets/${mark.toUpperCase()}`, { value: mark }),
    ask(worker, "POST", `${path}/suspensions`, { kind: "tool", name: "lab_strict", note: mark }),
    ask(worker, "PUT", `${path}/prompts/${mark}`, {
      messages: [{ role: "user", content: { type: "text", text: mark } }],
    }),
  ]);
  expect(done.filter(({ status }) => status >= 300)).toEqual([]);
  return (JSON.parse(done[2]?.text ?? "{}") as { token: string }).token;
}

/** Everything that anybody can see of a tenant, by whichever way. */
async function everythingOf({ worker, tenant }: Scene, marks: readonly string[]): Promise<string> {
  const parts = ["", "/document", "/export", "/resources", "/keys", "/secrets", "/suspensions", "/audit", "/usage"];
  const shown = await Promise.all(parts.map((part) => ask(worker, "GET", `/tenants/${tenant}${part}`)));
  const client = client2026(`${worker.origin}/mcp/${tenant}`);
  // An isolate that asked for the name while it was nobody's remembers that for five seconds.
  await vi.waitFor(async () => expect((await client.request("tools/list")).status).toBe(200), 30_000);
  const said = await Promise.all([
    client.request("tools/list"),
    client.request("prompts/list"),
    client.request("resources/list"),
    client.request("server/discover"),
    ...marks.map((query) => client.request("tools/call", { name: "search", arguments: { query } })),
  ]);
  expect([...shown, ...said].filter(({ status }) => status !== 200)).toEqual([]);
  return [...shown, ...said].map(({ text }) => text).join("\n");
}

async function play(round: number): Promise<readonly Ended[]> {
  const [worker, other] = round % 2 === 0 ? workers.both : ([workers.two, workers.one] as const);
  const tenant = `again-${round}`;
  const [old, mark] = [`old${round}x`, `new${round}x`];
  await made(worker, tenant, old);
  await ask(worker, "PUT", `/tenants/${tenant}/resources/content?uri=lab://${old}/first`, `${old} first`);
  const underWay = await beginAll({ worker, tenant, mark: old });
  const late = (part: number) => pause(((part + 0.5) / underWay.length) * LATE_MS);
  // Some comes while the tenant is being deleted, the rest when another one has its name.
  const meanwhile = underWay.filter((_one, at) => (at + round) % 4 === 0).map((one) => one.finish());
  const deletions = [worker, other].map((by) => ask(by, "DELETE", `/tenants/${tenant}`));
  await Promise.race(deletions);
  await made(other, tenant, mark);
  const written = writeNew({ worker: other, tenant, mark });
  const afterwards = underWay
    .filter((_one, at) => (at + round) % 4 !== 0)
    .map(async (one, at) => late(at).then(() => one.finish()));
  for (const { status } of await Promise.all(deletions)) expect([204, 404]).toContain(status);
  const ended = await Promise.all([...meanwhile, ...afterwards]);
  // A stream that was still open by then tells nothing of the tenant that came after its own.
  const told = (await Promise.all(afterwards)).filter(({ text }) => text.includes("resources/updated"));
  expect(told).toEqual([]);
  const token = await written;
  for (const by of [worker, other]) {
    const all = await everythingOf({ worker: by, tenant, mark }, [old, mark]);
    expect(all.match(new RegExp(`.{0,80}${old}.{0,80}`, "gi"))).toBeNull();
    for (const found of [`lab://${mark}/one`, SHARED_URI, `"name":"${mark}"`, mark.toUpperCase(), `"note":"${mark}"`]) {
      expect(all).toContain(found);
    }
    const body = await ask(by, "GET", `/tenants/${tenant}/resources/content?uri=${SHARED_URI}`);
    expect(body).toEqual({ status: 200, text: "the same in both" });
    const keyed = client2026(`${by.origin}/mcp/${tenant}`, {}, {}, { authorization: `Bearer ${token}` });
    const secret = await keyed.request("tools/call", { name: "lab_secret", arguments: { name: mark.toUpperCase() } });
    expect(secret.text).toContain(mark);
  }
  return ended;
}

test("nothing of a tenant is in the one that has its name after it, and nothing that was acknowledged to that one is lost", async () => {
  const ended: Ended[] = [];
  for (let round = 0; round < ROUNDS; round += AT_ONCE) {
    const rounds = Array.from({ length: Math.min(AT_ONCE, ROUNDS - round) }, (_none, at) => play(round + at));
    ended.push(...(await Promise.all(rounds)).flat());
  }
  expect(ended.filter(({ status = 0 }) => status >= 500 && status !== 503)).toEqual([]);
  expect(ended.filter(({ text }) => /new\d+x/.test(text))).toEqual([]);
}, 1_800_000);
