// A tool told its client `D1_ERROR: no such table`, and a prompt hid what its own author had to say. Who may read an error is
// said by who throws it, alike in tools, prompts and resources; what nobody may read is in the log under an id.

import { beforeAll, describe, expect, it } from "vitest";
import { mcpClient, ERAS, type Client } from "../support/mcp-client.ts";
import { loggedFaults } from "../support/logged-faults.ts";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { sharedWorker } from "../support/start-worker.ts";

const worker = await sharedWorker("authored-worker", { ADMIN_TOKEN });

const REQUESTS = [
  ["a tool", "tools/call", (how: string) => ({ name: "fails", arguments: { how } })],
  ["a prompt", "prompts/get", (how: string) => ({ name: "fails", arguments: { how } })],
  ["a resource", "resources/read", (how: string) => ({ uri: `fails://${how}` })],
  ["a template", "resources/read", (how: string) => ({ uri: `failing://${how}` })],
  [
    "a completion",
    "completion/complete",
    (how: string) => ({ ref: { type: "ref/prompt", name: "fails" }, argument: { name: "how", value: how } }),
  ],
] as const;

/** What the log says was called. */
const NAMES: Readonly<Record<(typeof REQUESTS)[number][0], string>> = {
  "a tool": "fails",
  "a prompt": "fails",
  "a resource": "fails://otherwise",
  "a template": "failing://otherwise",
  "a completion": "how",
};

const MASKED = /^Internal error: the server's log says why, under request (\S+)$/;

describe.each(ERAS)("in era $era", ({ revision }) => {
  let client: Client;
  beforeAll(async () => {
    client = await mcpClient(revision, `${worker.origin}/mcp/other`);
  });

  it.each(REQUESTS)("what %s says to who calls is shown, and in no log", async (what, method, params) => {
    const before = worker.log().length;
    const { result, error } = await client.request(method, params("user"));
    if (what === "a tool") {
      const [text, data] = result["content"] as { text: string }[];
      expect([text?.text, data?.text]).toEqual(["no ticket 7", '{"ticket":7}']);
      expect(result).toMatchObject({
        isError: true,
        structuredContent: { message: "no ticket 7", data: { ticket: 7 } },
      });
    } else {
      expect(error).toMatchObject({ code: -32602, message: "no ticket 7", data: { ticket: 7 } });
    }
    expect(worker.log().slice(before)).not.toContain("no ticket 7");
  });

  it.each(REQUESTS)("what else %s throws is masked, and logged with its tenant, name and request", async (...asked) => {
    const [what, method, params] = asked;
    const { result, error, text } = await client.request(method, params("otherwise"));
    expect(text).not.toContain("D1_ERROR");
    const [first] = (result["content"] ?? []) as { text: string }[];
    const told = what === "a tool" ? first?.text : error?.message;
    const [, id = "none"] = MASKED.exec(told ?? "") ?? [];
    if (error) expect(error.data).toMatchObject({ requestId: id });
    const logged = () => loggedFaults(worker.log()).filter(({ requestId }) => requestId === id);
    await expect.poll(logged).toHaveLength(1);
    const { stack, ...line } = logged()[0] ?? {};
    const name = NAMES[what];
    const why = "Error: D1_ERROR: no such table: tickets";
    expect(line).toMatchObject({
      message: `other: ${method} ${name}, request ${id}: ${why}`,
      tenant: "other",
      profile: null,
      method,
      name,
      requestId: id,
    });
    expect(stack).toMatch(new RegExp(`^${why}`));
  });

  it("no error has the structure of a tool's results, which clients hold against its schema", async () => {
    const { result } = await client.request("tools/call", { name: "fails_with_output" });
    expect(result).toMatchObject({ isError: true, content: [{ text: "no ticket 7" }, { text: '{"ticket":7}' }] });
    expect(result).not.toHaveProperty("structuredContent");
  });

  it("what cannot be sent is masked too", async () => {
    const { result } = await client.request("tools/call", { name: "returns_nothing" });
    expect((result["content"] as { text: string }[])[0]?.text).toMatch(MASKED);
    expect(worker.log()).toContain("returns_nothing: handler must return a text, content or an object, not a number");
  });

  it("a time-out is logged with its tenant, tool and request", async () => {
    const before = worker.log().length;
    const { error } = await client.request("tools/call", { name: "hangs" });
    expect(error?.message).toContain("hangs took longer than 50 ms");
    const output = () => worker.log().slice(before);
    await expect.poll(output).toMatch(/other: tools\/call hangs, request \S+: Error: no result within 50 ms/);
  });
});
