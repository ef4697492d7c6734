import { describe, expect, it } from "vitest";
import { acquireLink, type PooledSessionOwner } from "../../src/gateway/sessions/session-pool.ts";
import { SYSTEM_CLOCK } from "../../src/mcp-client/clock.ts";
import type { Fetch } from "../../src/mcp-client/remote-endpoint.ts";

/** More than an isolate holds. */
const MANY = 300;

function upstream({ instructions = "", capabilities = {} } = {}) {
  const ended: string[] = [];
  let begun = 0;
  const fetch: Fetch = async (_url, { method, body, headers }) => {
    if (method === "DELETE") ended.push(headers["mcp-session-id"] ?? "");
    const { id, method: asked } = JSON.parse(body ?? "{}") as { id?: number; method?: string };
    if (asked !== "initialize") return new Response(null, { status: 202 });
    begun += 1;
    const serverInfo = { name: "up", version: "1" };
    const result = { protocolVersion: "2025-11-25", capabilities, instructions, serverInfo };
    const headersOf = { "mcp-session-id": `s${begun}` };
    return Response.json({ jsonrpc: "2.0", id, result }, { headers: headersOf });
  };
  const lend = async (owner: PooledSessionOwner, key: string) => {
    const client = { clientInfo: {}, capabilities: {} };
    const endpoint = { url: "https://up.example.com/mcp", headers: {}, fetch, clock: SYSTEM_CLOCK };
    const { signal } = new AbortController();
    const linkConfig = { endpoint, client, transport: "2025" } as const;
    const whole = {
      key: JSON.stringify([owner, key]),
      owner,
      linkConfig,
      level: undefined,
      isAnonymous: false,
      signal,
    };
    const { session: held, release: over } = await acquireLink({ ...whole, waitUntil: (work) => void work });
    await over?.();
    return held?.opened.session.id;
  };
  /** All that an isolate has of a session, as text. */
  const heldOf = async () => {
    const { signal } = new AbortController();
    const endpoint = { url: "https://up.example.com/mcp", headers: {}, fetch, clock: SYSTEM_CLOCK };
    const linkConfig = {
      endpoint,
      client: { clientInfo: {}, capabilities: { own: LONG } },
      transport: "2025",
    } as const;
    const owner = { tenant: crypto.randomUUID(), principal: "ann" };
    const whole = { key: owner.tenant, owner, linkConfig, level: undefined, isAnonymous: false, signal };
    const { session: held } = await acquireLink({ ...whole, waitUntil: (work) => void work });
    return JSON.stringify(held);
  };
  return { lend, ended, heldOf };
}

const LONG = "x".repeat(10_000);

describe("sessions at upstreams", () => {
  it("take little memory, however long both initialize messages are", async () => {
    const { heldOf } = upstream({ instructions: LONG, capabilities: { experimental: { [LONG]: {} } } });
    expect(await heldOf()).toContain('"session":{"id":"s1"');
    expect((await heldOf()).length).toBeLessThan(2000);
  });

  it("are ended where a caller begins ever new ones, and those of others stay", async () => {
    const { lend, ended } = upstream();
    const tenant = crypto.randomUUID();
    const [ann, mallory] = ["ann", "mallory"].map((principal) => ({ tenant, principal }));
    const bob = { tenant: crypto.randomUUID(), principal: "mallory" };
    if (!ann || !mallory) throw new TypeError();
    const [hers, his] = [await lend(ann, "one"), await lend(bob, "one")];
    for (let at = 0; at < MANY; at += 1) await lend(mallory, String(at));
    expect(await lend(ann, "one")).toBe(hers);
    expect(await lend(bob, "one")).toBe(his);
    expect(ended).not.toContain(hers);
    expect(ended.length).toBeGreaterThanOrEqual(MANY - 200);
  });
});
