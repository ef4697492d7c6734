// What an author has run around calls: reached once for each call, in order, whatever becomes of it; and that it turns no
// refusal into an answer.

import { beforeEach, describe, expect, it } from "vitest";
import { mcpClient, ERAS, type Client, type Json } from "../support/mcp-client.ts";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { sharedWorker } from "../support/start-worker.ts";

const worker = await sharedWorker("authored-worker", { ADMIN_TOKEN });

async function admin(method: string, path: string, body?: Json): Promise<void> {
  const response = await fetch(`${worker.origin}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
}

/** What the first line of content says. */
const textOf = ({ result }: { result: Json }) => (result["content"] as { text: string }[] | undefined)?.[0]?.text;

describe.each(ERAS)("in era $era", ({ era, revision }) => {
  let client: Client;
  let from = 0;
  /** Without the ids of requests. */
  const noted = () =>
    worker
      .log()
      .slice(from)
      .split("\n")
      .filter((line) => line.startsWith("around "))
      .map((line) => line.slice("around ".length).replace(/^(worker \w+) \S+/, "$1"));
  const at = (tenant: string) => mcpClient(revision, `${worker.origin}/mcp/${tenant}`);
  beforeEach(async () => {
    client = await at("acme");
    from = worker.log().length;
  });
  const call = (name: string, args: Json = {}) => client.request("tools/call", { name, arguments: args });
  const began = (method: string, name: string, tenant = "acme") =>
    `worker begins ${tenant} null anonymous ${method} ${name}`;

  it("runs of the Worker, then of the tenant, then of the tool, and the tool twice where that asks for it", async () => {
    expect(textOf(await call("flaky", { key: era }))).toBe("tried 2 times");
    await expect
      .poll(noted)
      .toEqual([began("tools/call", "flaky"), `tenant flaky {"key":"${era}"}`, "tool flaky", "worker ends complete"]);
  });

  it.each([
    ["prompts/get", { name: "fails", arguments: { how: "user" } }, "fails", '{"how":"user"}'],
    ["resources/read", { uri: "fails://user" }, "fails://user", "undefined"],
  ] as const)("runs around %s", async (method, params, name, args) => {
    const { error } = await client.request(method, params);
    expect(error?.message).toBe("no ticket 7");
    await expect.poll(noted).toEqual([began(method, name), `tenant ${name} ${args}`, "worker ends failure"]);
  });

  it("runs for what matches its template, and another template is looked for where there is no such resource", async () => {
    const { error } = await client.request("resources/read", { uri: "failing://none" });
    expect(error?.message).toBe("Resource not found");
    await expect.poll(noted).toContain("template failing://none");
    expect(noted().at(-1)).toBe("worker ends failure");
  });

  it.each(["fails", "hangs", "returns_nothing"])("ends where a tool %s", async (name) => {
    await call(name, { how: "otherwise" });
    await expect.poll(() => noted().at(-1)).toMatch(/^worker ends (complete|failure)$/);
  });

  it("ends where arguments break their schema", async () => {
    await call("fails", { how: 7 });
    await expect
      .poll(noted)
      .toEqual([began("tools/call", "fails"), 'tenant fails {"how":7}', "worker ends invalidArguments"]);
  });

  it.each([
    ["unknown", "no_such_tool"],
    ["hidden", "for_keys"],
  ])("hears of a tool that is %s, and changes nothing about that", async (_why, name) => {
    const { error, result } = await call(name, { answer: "mine", around: "remembers" });
    expect(error).toMatchObject({ code: -32602, message: `Unknown tool: ${name}` });
    expect(result).toEqual({});
    const ended = `worker ends failure refused: Unknown tool: ${name}`;
    await expect.poll(() => noted().at(-1)).toBe(ended);
    expect(noted()[0]).toBe(began("tools/call", name));
  });

  it("hears of a tool that is suspended, and gives nobody what it remembers of it", async () => {
    await call("counts", { around: "remembers" });
    await admin("POST", "/tenants/acme/suspensions", { kind: "tool", name: "counts", note: "Under repair" });
    const answered = async () => (await call("counts", { around: "remembers" })).error?.message;
    await expect.poll(answered, { timeout: 20_000, interval: 200 }).toBe("counts is suspended: Under repair");
    await expect.poll(() => noted().at(-1)).toBe("worker ends failure refused: counts is suspended: Under repair");
    await admin("DELETE", "/tenants/acme/suspensions/tool/counts");
    await expect
      .poll(async () => textOf(await call("counts", { around: "remembers" })), { timeout: 20_000, interval: 200 })
      .toMatch(/^\d+$/);
  });

  it("hears of a call that is over a limit", async () => {
    client = await at("few");
    from = worker.log().length;
    const told: (number | undefined)[] = [];
    for (let tries = 0; tries < 5; tries += 1) told.push((await call("about")).error?.code);
    expect(told.at(-1)).toBeDefined();
    await expect.poll(() => noted().at(-1)).toMatch(/^worker ends failure refused: Too many requests/);
    expect(noted().filter((line) => line.startsWith("worker begins few"))).toHaveLength(5);
  });

  it("may deny, remember and answer itself", async () => {
    expect(await call("about", { around: "denies" })).toMatchObject({
      result: { isError: true, content: [{ text: "not in August" }] },
    });
    const once = textOf(await call("counts", { around: "remembers" }));
    expect(textOf(await call("counts", { around: "remembers" }))).toBe(once);
    expect((await call("about", { answer: "mine" })).result["mine"]).toBe(true);
  });

  it.each(["trips", "forgets", ...(era === "2025" ? ["asks"] : [])])(
    "that %s is a fault, masked and logged",
    async (how) => {
      const text = textOf(await call("about", { around: how })) ?? "";
      expect(text).toMatch(/^Internal error: the server's log says why/);
      const why = how === "trips" ? "an auditor that trips" : "around about must return the outcome of next()";
      await expect.poll(() => worker.log().slice(from)).toContain(why);
      expect(noted().at(-1)).toBe("worker ends complete");
    },
  );

  it("does not run around what no author wrote", async () => {
    await client.request("tools/list");
    await client.request("completion/complete", {
      ref: { type: "ref/prompt", name: "fails" },
      argument: { name: "how", value: "user" },
    });
    expect(noted()).toEqual([]);
  });
});

it.each(ERAS)("a handler of era $era is told who its client says it is, and what it sent", async ({ revision }) => {
  const client = await mcpClient(revision, `${worker.origin}/mcp/other`, {}, { "accept-language": "de" });
  const _meta = { "example.com/trace": "t" };
  const { result } = await client.request("tools/call", { name: "about", ...(revision < "2026" && { _meta }) });
  const reply = result["structuredContent"] as Json;
  expect(reply["client"]).toEqual({ name: "test", version: "1" });
  expect(reply["meta"]).toEqual(revision < "2026" ? _meta : {});
  expect(reply["headers"]).toContain("accept-language");
  expect(JSON.stringify(reply["headers"])).not.toMatch(/session|mcp-/);
});
