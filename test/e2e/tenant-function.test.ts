// A function in `tenants` that is slow, silent or wrong, over HTTP: who waits is answered in time, also after others have gone.

import { describe, expect, test } from "vitest";
import { mcpClient, ERAS, post } from "../support/mcp-client.ts";
import { write } from "../support/raw-http.ts";
import { loggedFaults } from "../support/logged-faults.ts";
import { sharedWorker } from "../support/start-worker.ts";

const worker = await sharedWorker("tenant-function-worker");

const asks = async (id: string) =>
  ((await (await fetch(`${worker.origin}/asked`)).json()) as string[]).filter((one) => one === id).length;

describe.each(ERAS)("in era $era", ({ era, revision }) => {
  const { headers, body } = write(revision, "tools/call", { name: "see" });
  const call = (id: string) => post(`${worker.origin}/mcp/${id}`, body, { headers });

  test("a client that has gone while it was asked keeps nobody waiting", async () => {
    const id = `slow-gone-${era}`;
    const abort = new AbortController();
    const init = { method: "POST", headers, body: JSON.stringify(body), signal: abort.signal };
    const gone = fetch(`${worker.origin}/mcp/${id}`, init);
    await expect.poll(() => asks(id)).toBe(1);
    const waiting = call(id);
    abort.abort();
    await expect(gone).rejects.toThrow();
    expect((await waiting).status).toBe(200);
    const client = await mcpClient(revision, `${worker.origin}/mcp/${id}`);
    expect((await client.request("tools/call", { name: "see" })).result["content"]).toMatchObject([
      { text: `seen by ${id}` },
    ]);
  });

  test("a function that knows no such tenant is answered as a closed tenant is", async () => {
    const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await call(`nobody-${era}`)).status));
    expect(new Set(statuses)).toEqual(new Set([401]));
    expect(await asks(`nobody-${era}`)).toBeLessThanOrEqual(3);
  });
});

test.each([
  ["silent", "your function did not answer within 10000 ms"],
  ["throws", "no database"],
  ["nonsense", "TypeError"],
])("a function that is %s is an outage in both eras, and the log names the tenant and says why", async (how, why) => {
  const outages = ERAS.map(async ({ era, revision }) => {
    const id = `${how}-${era}`;
    const { headers, body } = write(revision, "tools/call", { name: "see" });
    const began = Date.now();
    const reply = await post(`${worker.origin}/mcp/${id}`, body, { headers });
    expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    expect(reply.text).not.toContain(why);
    expect(Date.now() - began).toBeLessThan(20_000);
    // Nobody knows yet whether there is such a tenant, so the place has none; the error names it.
    const logged = () =>
      loggedFaults(worker.log()).find(({ message }) => message.includes(`: Error: tenants("${id}"): `));
    await expect.poll(() => logged()?.message).toContain(why);
    const { error } = JSON.parse(reply.text) as { error: { data: object } };
    expect(logged()).toMatchObject({ ...error.data, method: "POST", requestId: expect.any(String) });
  });
  await Promise.all(outages);
});
