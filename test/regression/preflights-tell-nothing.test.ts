// A preflight was answered with the headers that upstreams of a private tenant are sent, and 403 or not by that tenant's own origins: so
// names and origins could be tried, each asked the directory, and no limit counted it. A POST from such an origin told as much.

import { afterAll, beforeAll, expect, test } from "vitest";
import { comparableHeaders } from "../support/comparable-headers.ts";
import { sendRaw, write } from "../support/raw-http.ts";
import { startWorkerPair, type WorkerPair } from "../support/worker-pair.ts";

const OWN = "https://app.example.com";
const FOREIGN = "https://evil.example.com";
const LOCAL = "http://localhost:6274";
const ASKED = "x-user-id, X-Trace, mcp-param-region, authorization";

let workers: WorkerPair;
let key: string;
beforeAll(async () => {
  workers = await startWorkerPair({ OUTBOUND_LOCAL: "http://127.0.0.1" });
  const document = {
    mode: "key",
    allowedOrigins: [OWN],
    upstreams: { up: { url: "http://127.0.0.1:1/mcp", headers: { "X-User-Id": "{{client:x-user-id}}" } } },
  };
  await workers.one.admin("POST", "/tenants", { id: "private", document });
  await workers.one.admin("POST", "/tenants", { id: "open", document: { mode: "open", allowedOrigins: [OWN] } });
  key = String((await workers.one.admin("POST", "/tenants/private/keys", { name: "a" }))["token"]);
});
afterAll(() => workers.stop());

const NAMES = ["private", "nobodys", "open", "private/none"];

async function preflight(path: string, origin: string) {
  const wanted = { "access-control-request-method": "POST", "access-control-request-headers": ASKED };
  const reply = await sendRaw(workers.one.origin + path, { method: "OPTIONS", headers: { origin, ...wanted } });
  return { status: reply.status, headers: comparableHeaders(reply.headers), text: reply.text };
}

test.each([LOCAL, OWN, FOREIGN])(
  "a preflight from %s is answered alike for every name, and asks nobody",
  async (origin) => {
    await workers.one.reset();
    const answers = [];
    for (const where of ["mcp", "gateway"]) {
      for (const name of NAMES) answers.push(await preflight(`/${where}/${name}`, origin));
    }
    expect(answers[0]).toMatchObject({ status: 204, headers: { "access-control-allow-origin": origin } });
    expect(String(answers[0]?.headers["access-control-allow-headers"]).split(", ")).toEqual(
      expect.arrayContaining(["x-user-id", "x-trace", "mcp-param-region"]),
    );
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(await workers.one.calls()).toEqual([]);
  },
);

test("a name of a header that is none is not said again", async () => {
  const headers = { origin: LOCAL, "access-control-request-headers": "x-good, x bad, *, x{bad}, " };
  const reply = await sendRaw(`${workers.one.origin}/mcp/open`, { method: "OPTIONS", headers });
  expect(String(reply.headers["access-control-allow-headers"])).toMatch(/baggage, x-good$/);
});

async function post(name: string, origin: string, more = {}) {
  const { headers, body } = write("2025-11-25", "tools/list");
  const sent = { ...headers, origin, ...more };
  const reply = await sendRaw(`${workers.one.origin}/mcp/${name}`, { headers: sent, body: JSON.stringify(body) });
  return { status: reply.status, headers: comparableHeaders(reply.headers), text: reply.text };
}

test.each([OWN, FOREIGN])("who brings no good key from %s is answered as at a name of nobody's", async (origin) => {
  for (const more of [{}, { authorization: "Bearer tnt_no_key" }]) {
    const [there, nobodys] = [await post("private", origin, more), await post("nobodys", origin, more)];
    expect(there).toEqual(nobodys);
    expect(there.status).toBe(401);
  }
});

test("who brings one is refused from an origin that nobody lists, and so is everybody at an open tenant", async () => {
  const good = { authorization: `Bearer ${key}` };
  expect((await post("private", OWN, good)).status).toBe(200);
  expect((await post("private", FOREIGN, good)).status).toBe(403);
  expect((await post("open", OWN)).status).toBe(200);
  const refused = await post("open", FOREIGN);
  expect(refused.status).toBe(403);
  expect(refused.headers).not.toHaveProperty("access-control-allow-origin");
});
