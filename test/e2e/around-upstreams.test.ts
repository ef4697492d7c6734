// An author's middleware around what comes from upstreams, at /mcp and at POST /gateway/{tenant}: it denies, remembers, tries again
// and hangs there as it does around tools in code, and sends nothing twice that may run only once. And what `visible` hides there.

import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { mcpClient, ERAS, post, type Json } from "../support/mcp-client.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { write } from "../support/raw-http.ts";
import { sharedWorker } from "../support/start-worker.ts";

const worker = await sharedWorker("bounded-worker", { ADMIN_TOKEN, OUTBOUND_LOCAL: "http://127.0.0.1" });
const admin = fixtureAdmin(worker.origin, "around");
let up: Upstream;
beforeAll(async () => {
  const textResult = (text: string): Json => ({ content: [{ type: "text", text }] });
  up = await startUpstream(
    { once: () => textResult("once"), reads: () => textResult("read"), denied: () => textResult("denied") },
    { reads: { readOnlyHint: true } },
  );
  for (const id of ["acme", "few"]) await admin.apply(id, { upstreams: { up: { url: up.url } } });
  for (const id of ["acme", "few"]) {
    const client = await mcpClient("2025-11-25", `${worker.origin}/mcp/${id}`);
    await vi.waitFor(
      async () => {
        expect(JSON.stringify((await client.request("tools/list")).result)).toContain("up__once");
      },
      { timeout: 20_000, interval: 100 },
    );
  }
});
afterAll(async () => {
  // Others use the same tenants after this file.
  for (const id of ["acme", "few"]) await admin.apply(id, {});
  up.close();
});

const MASKED = /^Internal error: the server's log says why, under request \S+$/;

const PLACES = ERAS.flatMap(({ era, revision }) =>
  (["/mcp", "/gateway"] as const).map((at) => ({ era, revision, at })),
);
type Place = (typeof PLACES)[number];

let from = { log: 0, requestCount: 0 };
beforeEach(() => {
  from = { log: worker.log().length, requestCount: up.requests.length };
});

async function request({ revision, at }: Place, method: string, params: Json, tenant = "acme", server_id = "up") {
  if (at === "/mcp") return (await mcpClient(revision, `${worker.origin}/mcp/${tenant}`)).request(method, params);
  const { headers, body } = write(revision, method, params);
  return post(`${worker.origin}/gateway/${tenant}`, { server_id, ...body }, { headers });
}

const callAt = (place: Place, name: string, how: string, tenant?: string) =>
  request(
    place,
    "tools/call",
    { name: place.at === "/mcp" ? `up__${name}` : name, arguments: { around: how } },
    tenant,
  );
const textOf = ({ result }: { result: Json }) => (result["content"] as { text: string }[] | undefined)?.[0]?.text;
/** How often the upstream was called. */
const sent = () =>
  up.requests.slice(from.requestCount).filter(({ message }) => message["method"] === "tools/call").length;
const ends = () =>
  worker
    .log()
    .slice(from.log)
    .split("\n")
    .filter((line) => line.startsWith("around ends"))
    .map((line) => line.replace(/^around ends \S+ /, ""));

it("a middleware that hangs is a fault, before and after the upstream answered, in both eras and at both places", async () => {
  const told = await Promise.all(
    PLACES.flatMap((place) => [callAt(place, "once", "hangs_before"), callAt(place, "once", "hangs_after")]),
  );
  expect(told.map(textOf)).toEqual(told.map(() => expect.stringMatching(MASKED) as string));
  expect(sent()).toBe(PLACES.length);
  await expect.poll(ends).toEqual(told.map(() => "acme up__once complete"));
});

describe.each(PLACES)("in era $era at $at", (place) => {
  const { at } = place;
  const call = (name: string, how: string, tenant?: string) => callAt(place, name, how, tenant);

  it("is reached once for each call, by the name that is listed", async () => {
    expect(textOf(await call("once", "none"))).toBe("once");
    await expect.poll(ends).toEqual(["acme up__once complete"]);
    expect(sent()).toBe(1);
  });

  it("denies before anything is sent", async () => {
    expect((await call("denied", "denies")).result).toMatchObject({ isError: true, content: [{ text: "not today" }] });
    expect(sent()).toBe(0);
  });

  it("remembers what was answered", async () => {
    await call("reads", "remembers");
    from = { ...from, requestCount: up.requests.length };
    expect(textOf(await call("reads", "remembers"))).toBe("read");
    expect(sent()).toBe(0);
  });

  it("tries again what may run twice, and sends nothing else twice", async () => {
    expect(textOf(await call("reads", "retries"))).toBe("read");
    expect(sent()).toBe(2);
    expect(textOf(await call("once", "retries"))).toMatch(MASKED);
    expect(sent()).toBe(3);
    expect(textOf(await call("reads", "retries_for_ever"))).toMatch(MASKED);
    expect(sent()).toBe(13);
  });

  it("hears of what is refused", async () => {
    expect((await call("nothing", "denies")).error?.message).toMatch(/^Unknown tool: (up__)?nothing$/);
    const unknown = at === "/mcp" ? "up__nothing" : "nothing";
    await expect.poll(ends).toEqual([`acme ${unknown} failure refused`]);
  });

  it("hears of a call that is over a limit", async () => {
    let refused: string | undefined;
    let calls = 0;
    for (; calls < 10 && refused === undefined; calls += 1)
      refused = (await call("once", "none", "few")).error?.message;
    expect(refused).toMatch(/^Too many requests/);
    await expect.poll(() => ends().at(-1)).toBe("few up__once failure refused");
    expect(sent()).toBeLessThan(calls);
  });

  it("is no way to what `visible` hides", async () => {
    const hidden = await call("secret", "none");
    const unknown = await call("nobody", "none");
    expect(JSON.stringify(hidden.error).replaceAll("secret", "nobody")).toBe(JSON.stringify(unknown.error));
    const { result } = await request(place, "tools/list", {});
    expect(JSON.stringify(result)).not.toMatch(/hidden|secret/);
    if (at === "/mcp") return;
    const code = await request(place, "tools/call", { name: "hidden", arguments: {} }, "acme", "code");
    expect(code.error).toMatchObject({ code: -32001 });
  });
});
