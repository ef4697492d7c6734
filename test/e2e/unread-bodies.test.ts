// What is refused before a body is read, and what ends a body that does not come: in the shape of the era, on a connection
// that ends with the answer.

import { describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import type { Json } from "../support/mcp-client.ts";
import { write } from "../support/raw-http.ts";
import { SlowClient, statusIn } from "../support/slow-client.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "unread");
const MIB = 1024 * 1024;
const REVISIONS = ["2025-11-25", "2026-07-28"];
/** Far less than the ten seconds after which silence ends a body. */
const AT_ONCE_MS = 5000;

const headersOf = (revision: string, more: Readonly<Record<string, string>> = {}) => ({
  ...write(revision, "tools/list").headers,
  ...more,
});

async function refused(client: SlowClient): Promise<{ status: number; body: Json; headers: string; ms: number }> {
  const begun = Date.now();
  const text = await client.untilClosed();
  const at = text.indexOf("\r\n\r\n");
  const [json] = /\{.*\}/s.exec(text.slice(at)) ?? ["{}"];
  return { status: statusIn(text), body: JSON.parse(json) as Json, headers: text.slice(0, at), ms: Date.now() - begun };
}

describe.each(REVISIONS)("in %s", (revision) => {
  const shape = (body: Json) => {
    expect(body).toMatchObject({ jsonrpc: "2.0", error: { message: expect.any(String) } });
    // Era 2025 says null where no id could be read, era 2026 leaves it out.
    expect("id" in body).toBe(revision !== "2026-07-28");
  };

  test.each([
    ["a tenant that is not there", "/mcp/Nobody", {}, 404],
    ["a profile that is not there", "/mcp/lab/nobody", {}, 404],
    ["an origin that is not allowed", "/mcp/lab", { origin: "https://evil.example" }, 403],
    ["another type", "/mcp/lab", { "content-type": "text/plain" }, 415],
    ["an answer in no form that there is", "/mcp/lab", { accept: "image/png" }, 406],
  ])("%s is refused at once, while its body is still to come", async (_what, path, headers, status) => {
    for (const declared of [4 * MIB, null]) {
      const client = new SlowClient(`${origin}${path}`, { headers: headersOf(revision, headers), declared });
      const answered = await refused(client);
      expect(answered).toMatchObject({ status });
      expect(answered.ms).toBeLessThan(AT_ONCE_MS);
      shape(answered.body);
    }
  });

  test("a body that says that it is too large is refused at once", async () => {
    const client = new SlowClient(`${origin}/mcp/lab`, { headers: headersOf(revision), declared: 4 * MIB + 1 });
    const { status, body, ms } = await refused(client);
    expect(status).toBe(413);
    expect(ms).toBeLessThan(AT_ONCE_MS);
    shape(body);
  });

  test("a tenant with keys refuses who brings none, and its own limit is told only to who may come in", async () => {
    const id = await admin.tenant({ mode: "key", limits: { bodyBytes: 1024 } });
    for (const sent of ["", " ".repeat(100_000)]) {
      const about = { headers: headersOf(revision), declared: 2 * MIB, body: sent };
      const { status, ms } = await refused(new SlowClient(`${origin}/mcp/${id}`, about));
      expect(status).toBe(401);
      expect(ms).toBeLessThan(AT_ONCE_MS);
    }
  });

  test.concurrent.each([
    ["is announced and does not come", "", 100],
    ["is announced as a large one and does not come", "", 4 * MIB],
    ["stops in the middle", " ".repeat(MIB), 4 * MIB],
    ["comes in chunks that stop", "{", null],
  ])("a body that %s is ended after ten seconds", async (_how, body, declared) => {
    const client = new SlowClient(`${origin}/mcp/lab`, { headers: headersOf(revision), body, declared });
    const answered = await refused(client);
    expect(answered.status).toBe(408);
    expect(answered.ms).toBeGreaterThan(9000);
    shape(answered.body);
  });
});
