// Every built-in tool, prompt, list and completion with inputs that are not what it takes: the answer says so in the shape
// of its revision, and never names a class of JavaScript, a stack or a file. The inputs are made from the schemas listed.

import { describe, expect, test } from "vitest";
import { mcpClient, type Client, type Json, type Reply } from "../support/mcp-client.ts";
import { sharedWorker } from "../support/start-worker.ts";

const { origin } = await sharedWorker("demo-worker");
const url = `${origin}/mcp/demo`;

/** A class of exceptions, a line of a stack, a file of the Worker, or the error that stands for what nobody foresaw. */
const INNER = /\b[A-Z]\w+(?:Error|Exception)\b|\n\s+at \S+|\.[jt]s:\d|file:\/\/|node_modules|\bsrc\/|-32603/;

/** Of era 2025 the oldest and the newest, which refuse arguments in ways of their own. */
const REVISIONS = ["2024-11-05", "2025-11-25", "2026-07-28"];
const FOREIGN = encodeURIComponent("resources\ncode 0").replaceAll("%", "~");
const CURSORS = ["", "~", "nonsense", "stored", "stored~0", "stored~ZZ", FOREIGN, "\ud800", "0", "x".repeat(10_000)];
const TEXTS = [...CURSORS, "__proto__", "constructor", "../../etc", "note://", "http://[", "a\0b", "%", "{{x}}"];
const VALUES: readonly unknown[] = [
  ...TEXTS,
  null,
  true,
  -1,
  0.5,
  1e308,
  [],
  {},
  [null],
  { toString: null },
  [["deep"]],
];

interface Listed {
  readonly name: string;
  readonly inputSchema: { readonly properties?: Json; readonly required?: readonly string[] };
  readonly arguments?: readonly { readonly name: string }[];
}

async function listed(client: Client, what: "tools" | "prompts"): Promise<readonly Listed[]> {
  return (await client.request(`${what}/list`, {})).result[what] as readonly Listed[];
}

function expectPlain(asked: unknown, { text, status }: Reply): void {
  expect([asked, text], JSON.stringify(asked)).toEqual([asked, expect.not.stringMatching(INNER)]);
  expect(status, JSON.stringify(asked)).toBeLessThan(500);
}

describe.each(REVISIONS)("in %s", (revision) => {
  test("a cursor that is not of its list is refused as other arguments are", async () => {
    const client = await mcpClient(revision, url);
    const well = CURSORS.filter((cursor) => cursor.isWellFormed());
    for (const cursor of well) {
      const { result, error } = await client.request("tools/call", { name: "note_list", arguments: { cursor } });
      const why = "cursor: is not one of this list";
      if (revision < "2025-11-25") {
        expect(error).toMatchObject({ code: -32602, message: `Invalid params: ${why}`, data: { path: "cursor" } });
      } else {
        expect(result).toMatchObject({ isError: true, content: [{ text: `Invalid arguments: ${why}` }] });
      }
    }
    for (const list of ["tools", "prompts", "resources", "resources/templates"]) {
      // An empty one is none in era 2025.
      for (const cursor of CURSORS.filter((one) => one !== "" || revision === "2026-07-28")) {
        const { error } = await client.request(`${list}/list`, { cursor });
        expect([list, cursor, error?.code]).toEqual([list, cursor, -32602]);
      }
    }
  });

  test("no answer says what only the server's author understands", async () => {
    const client = await mcpClient(revision, url);
    let requestCount = 0;
    const ask = async (method: string, params: Json) => {
      requestCount += 1;
      expectPlain([method, params], await client.request(method, params));
    };
    for (const { name, inputSchema } of await listed(client, "tools")) {
      const { properties = {}, required = [] } = inputSchema;
      const plain = Object.fromEntries(required.map((member) => [member, "plain"]));
      for (const member of [...Object.keys(properties), "unknown"]) {
        for (const value of VALUES) await ask("tools/call", { name, arguments: { ...plain, [member]: value } });
      }
    }
    for (const { name, arguments: known = [] } of await listed(client, "prompts")) {
      for (const member of [...known.map((one) => one.name), "unknown"]) {
        for (const value of VALUES) await ask("prompts/get", { name, arguments: { [member]: value } });
        const ref = { type: "ref/prompt", name };
        for (const value of TEXTS) await ask("completion/complete", { ref, argument: { name: member, value } });
      }
    }
    for (const uri of TEXTS) {
      await ask("resources/read", { uri });
      await ask("completion/complete", { ref: { type: "ref/resource", uri }, argument: { name: "id", value: uri } });
    }
    expect(requestCount).toBeGreaterThan(300);
  }, 120_000);
});
