// KV takes one write of a key in a second, and may say somewhere for a minute that it has nothing. Neither is seen by anybody
// who stores a resource, or reads one. Two Workers over one storage, between whom and KV is what its documentation says.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { storeText } from "../support/fixture-admin.ts";
import { client2026 } from "../support/mcp-client.ts";
import { ADMIN_TOKEN, sharedWorkerPair, type SharedWorkerPair, type WatchedWorker } from "../support/worker-pair.ts";

let workers: SharedWorkerPair;
beforeAll(async () => {
  workers = await sharedWorkerPair();
  await workers.one.bindKv("strict");
});

let made = 0;
async function newTenant(): Promise<string> {
  made += 1;
  const id = `kv-${made}`;
  await workers.one.admin("POST", "/tenants", { id, document: { mode: "open" } });
  return id;
}

const write = (worker: WatchedWorker, tenant: string, uri: string, text: string) =>
  client2026(`${worker.origin}/mcp/${tenant}`).request("tools/call", {
    name: "lab_write",
    arguments: { uri, name: "Note", text },
  });

function expectWritten({ result }: Awaited<ReturnType<typeof write>>): void {
  expect(result).toMatchObject({ content: [{ type: "text" }] });
  expect(result).not.toHaveProperty("isError");
}

const read = async (worker: WatchedWorker, tenant: string, uri: string) =>
  (await client2026(`${worker.origin}/mcp/${tenant}`).request("resources/read", { uri })).result["contents"];

describe("where KV refuses a second write of a key within a second", () => {
  test("equal texts are written one after the other and at once, and KV is asked once", async () => {
    const tenant = await newTenant();
    const one = (at: number) => write(workers.one, tenant, `lab://same/${at}`, "the same text");
    expectWritten(await one(0));
    const all = await Promise.all(Array.from({ length: 10 }, (_none, at) => one(at)));
    all.forEach(expectWritten);
    const others = (at: number) => write(workers.one, tenant, `lab://others/${at}`, "another text");
    (await Promise.all([0, 1, 2, 3].map(others))).forEach(expectWritten);
    expect(await workers.one.refusals()).toEqual([]);
  });

  test("the first requests of a tenant with content in code, all at once, are all answered", async () => {
    const ask = () => client2026(`${workers.one.origin}/mcp/archive`).request("resources/list");
    const answers = await Promise.all([ask(), ask(), ask()]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await workers.one.refusals()).toEqual([]);
  });

  test("a tenant is deleted within the second in which it was made", async () => {
    const tenant = await newTenant();
    await write(workers.one, tenant, "lab://short/one", "short");
    await workers.one.admin("DELETE", `/tenants/${tenant}`);
    expect(await workers.one.value(`placement/${tenant}`)).toBeNull();
  });
});

describe("where KV says that it has nothing", () => {
  beforeAll(() => workers.two.bindKv("far"));
  afterAll(() => workers.two.bindKv("lenient"));

  test("a small text that was just written is read", async () => {
    const tenant = await newTenant();
    await write(workers.one, tenant, "lab://far/small", "small");
    expect(await read(workers.two, tenant, "lab://far/small")).toMatchObject([{ text: "small" }]);
  });

  test("a body of several megabytes that was just written is read whole", async () => {
    const tenant = await newTenant();
    const uri = "note://far/large";
    const text = Array.from({ length: 400_000 }, (_none, at) => `word-${at}`).join(" ");
    await storeText(workers.one.origin, ADMIN_TOKEN, { id: tenant, uri, text });
    const [content] = (await read(workers.two, tenant, uri)) as { text: string }[];
    expect(content?.text.length).toBe(text.length);
    expect(content?.text === text).toBe(true);
  });
});
