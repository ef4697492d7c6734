// `tenantry stdio --local` with the official clients: a server of its own for each, here that of the fixtures, because the
// demo asks for nothing but a form (stdio.test.ts) and has no call that takes long. Nothing can be cut: the bridge and its
// server are on one machine, and end together.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type PriorDiscovery, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readDevelopmentToken } from "../../src/cli/local/token-file.ts";
import { storeText } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2026 } from "../support/mcp-client.ts";
import {
  answeringV2,
  type ReceivedNotifications,
  overStdioV1,
  overStdioV2,
  ROOTS,
  SAMPLED,
  urlOf,
} from "../support/official-clients.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures");
const URI = "lab://notes/shared";
const UPDATED = "notifications/resources/updated";
let state: string;

beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), "official-local-"));
});
afterAll(() => rm(state, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));

const local = () => ["lab", "--local", "--project", FIXTURES, "--state", state];

const WAYS = [overStdioV1("v1 over stdio", local), overStdioV2("v2 over stdio in era 2026", "2026", local)];

/** What the same Worker says of itself elsewhere. */
async function discover(): Promise<PriorDiscovery> {
  const client = answeringV2("2026");
  await client.connect(new HttpV2(urlOf({ origin: fixtureOrigin(), tenant: "lab" })));
  const found = client.getDiscoverResult();
  await client.close();
  if (!found) throw new Error("nothing was discovered");
  return { kind: "modern", discover: found };
}

describe.each(WAYS)("$title", (way) => {
  test("hears, is asked, and gets what takes long, from a server that it started", async () => {
    const requests: string[] = [];
    const person = { onQuestion: (method: string) => void requests.push(method) };
    const place = { origin: "", tenant: "lab", ...(way.era === "2026" ? { prior: await discover() } : {}) };
    const { call, read, tools, watch, said: untilLogged, ...connected } = await way.connect(place, person);
    const { notifications, received, faults } = connected;
    const origin = await untilLogged(/serving (http:\S+)\/mcp\/lab on stdin/);
    const token = await readDevelopmentToken(FIXTURES, new URL(origin).port);
    const operator = operatorOf(origin, token ?? "");

    await watch(URI);
    const other = client2026(`${origin}/mcp/lab`);
    const last = await writeUntilHeard(notifications, async (text) => {
      await other.request("tools/call", { name: "lab_write", arguments: { uri: URI, text } });
    });
    expect(await read(URI)).toBe(last);
    expect(await tools()).toContain("lab_strict");
    // In force when the leases of this tenant have ended, which are as long as they usually are.
    const suspended = operator.suspend("lab_strict");

    const before = notifications.count(UPDATED);
    await operator.store(URI, "by an operator");
    await notifications.until(UPDATED, before + 1);
    expect(await read(URI)).toBe("by an operator");

    expect(await call("lab_ask", { kind: "form" })).toBe('{"yes":true}');
    expect(JSON.parse(await call("lab_ask", { kind: "sampling" }))).toEqual(SAMPLED);
    expect(JSON.parse(await call("lab_ask", { kind: "roots" }))).toEqual(ROOTS);
    expect(requests).toEqual(["elicitation/create", "sampling/createMessage", "roots/list"]);

    await suspended;
    await notifications.until("notifications/tools/list_changed");
    expect(await tools()).not.toContain("lab_strict");
    await operator.resume("lab_strict");
    // Later the clients complain of progress that came in one piece with the result.
    expect(faults).toEqual([]);

    const result = call("lab_long", { key: way.era }, { onprogress: () => {} });
    await received.until("notifications/progress", 3);
    await operator.store(`lab://gates/${way.era}`, "open");
    expect(await result).toBe(`${way.era} counted to 6`);
  });
});

/** Nothing tells a client of era 2025 when the bridge's stream of notifications is open; what was written last. */
async function writeUntilHeard(
  notifications: ReceivedNotifications,
  write: (text: string) => Promise<void>,
): Promise<string> {
  const arrived = notifications.until(UPDATED);
  let text = "";
  for (let draft = 1; notifications.count(UPDATED) === 0; draft += 1) {
    text = `draft ${draft}`;
    await write(text);
    await Promise.race([arrived, new Promise((resolve) => setTimeout(resolve, 250))]);
  }
  return text;
}

/** Manages the tenant of the server that the client started. */
function operatorOf(origin: string, token: string) {
  const suspensions = async (method: string, path: string, json?: object) => {
    const response = await fetch(`${origin}/admin/v1/tenants/lab/suspensions${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  };
  return {
    store: (uri: string, text: string) => storeText(origin, token, { id: "lab", uri, text }),
    suspend: (name: string) => suspensions("POST", "", { kind: "tool", name, note: "resting" }),
    resume: (name: string) => suspensions("DELETE", `/tool/${name}`),
  };
}
