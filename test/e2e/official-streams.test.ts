// What the official clients hear and are asked, the same test for each way in which they connect. How they come back when
// their connection is cut is in official-streams-cut.test.ts, what a local server does in official-streams-local.test.ts.

import { beforeEach, describe, expect, test } from "vitest";
import { CutProxy } from "./cut-proxy.ts";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2026 } from "../support/mcp-client.ts";
import { type Connected, ROOTS, SAMPLED, type Way, WAYS } from "../support/official-clients.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "official");
const URI = "lab://notes/shared";
const ENABLED = ["lab_ask", "lab_write"];

const documentOf = ({ isPrivate }: Way, tools: readonly string[]) => ({
  mode: isPrivate ? "key" : "open",
  tools: { ...Object.fromEntries(tools.map((name) => [name, { enabled: true }])), "*": { enabled: false } },
});

describe.each(WAYS)("$title", (way) => {
  let tenant: string;
  let key: string | undefined;

  beforeEach(async () => {
    tenant = await admin.tenant(documentOf(way, ENABLED));
    key = way.isPrivate ? (await admin.key(tenant)).token : undefined;
  });

  const place = (at = origin) => ({ origin: at, tenant, ...(key === undefined ? {} : { key }) });

  /** By another client. */
  async function write(text: string): Promise<void> {
    const headers = key === undefined ? {} : bearer(key);
    const client = client2026(`${origin}/mcp/${tenant}`, {}, {}, headers);
    const { result } = await client.request("tools/call", { name: "lab_write", arguments: { uri: URI, text } });
    expect(result.isError).not.toBe(true);
  }

  /** Settles when nothing that happens from now on can be missed. */
  async function watching(): Promise<Connected> {
    const proxy = await CutProxy.start(origin);
    const connected = await way.connect(place(proxy.origin));
    await connected.watch(URI);
    if (way.era === "2025") await proxy.opened(1);
    return connected;
  }

  test("hears that another client wrote what it watches, and reads what was written", async () => {
    await write("first");
    const { notifications: received, read, faults } = await watching();
    expect(await read(URI)).toBe("first");
    await write("second");
    await received.until("notifications/resources/updated");
    expect(await read(URI)).toBe("second");
    expect(received.all.find(({ method }) => method === "notifications/resources/updated")?.params).toMatchObject({
      uri: URI,
    });
    expect(faults).toEqual([]);
  });

  test("hears that an operator wrote what it watches, and that the tools are others", async () => {
    const { notifications: received, read, tools, faults } = await watching();
    await admin.store(tenant, URI, "by an operator");
    await received.until("notifications/resources/updated");
    expect(await read(URI)).toBe("by an operator");
    expect((await tools()).toSorted()).toEqual(ENABLED);
    await admin.apply(tenant, documentOf(way, [...ENABLED, "lab_echo"]));
    await received.until("notifications/tools/list_changed");
    expect((await tools()).toSorted()).toEqual(["lab_ask", "lab_echo", "lab_write"]);
    expect(faults).toEqual([]);
  });

  test("is asked for a form, a sample and its roots, and the tool has the answers", async () => {
    const requests: string[] = [];
    const person = { onQuestion: (method: string) => void requests.push(method) };
    const { call, faults } = await way.connect(place(), person);
    expect(await call("lab_ask", { kind: "form" })).toBe('{"yes":true}');
    expect(JSON.parse(await call("lab_ask", { kind: "sampling" }))).toEqual(SAMPLED);
    expect(JSON.parse(await call("lab_ask", { kind: "roots" }))).toEqual(ROOTS);
    expect(requests).toEqual(["elicitation/create", "sampling/createMessage", "roots/list"]);
    expect(faults).toEqual([]);
  });
});
