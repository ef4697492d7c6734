import { describe, expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2026, ERAS, type Json } from "../support/mcp-client.ts";
import { write } from "../support/raw-http.ts";
import { expectRefusal, sendWritten } from "../support/refusal.ts";

const origin = fixtureOrigin();
const lab = `${origin}/mcp/lab`;

async function stored(prefix: string): Promise<string> {
  const { result } = await client2026(lab).request("tools/call", { name: "lab_list", arguments: { prefix } });
  return String((result.content as Json[])[0]?.text);
}

describe.each(ERAS)("params in era $era", ({ era, revision }) => {
  const errorOf = async (method: string, params: Json) => await sendWritten(lab, write(revision, method, params, 9));
  const INVALID = { status: 200, code: -32602, id: 9 };

  test.each([
    ["tools/call without a name", "tools/call", {}],
    ["tools/call with a name that is a number", "tools/call", { name: 5 }],
    ["tools/call with arguments that are an array", "tools/call", { name: "lab_write", arguments: ["lab://bad/x"] }],
    ["tools/call with arguments that are a number", "tools/call", { name: "lab_write", arguments: 0 }],
    ["an unknown tool", "tools/call", { name: "lab_unknown", arguments: {} }],
    ["the tool of another tenant", "tools/call", { name: "test_simple_text", arguments: {} }],
    ["a tool named like a member of every object", "tools/call", { name: "constructor", arguments: {} }],
    ["an unknown prompt", "prompts/get", { name: "__proto__" }],
    ["a prompt without its required argument", "prompts/get", { name: "lab_letter", arguments: {} }],
    ["a prompt argument that is no text", "prompts/get", { name: "lab_letter", arguments: { key: 1 } }],
    ["completion without ref", "completion/complete", { argument: { name: "key", value: "" } }],
    [
      "completion of an unknown prompt",
      "completion/complete",
      { ref: { type: "ref/prompt", name: "x" }, argument: { name: "a", value: "" } },
    ],
    [
      "completion of an unknown argument",
      "completion/complete",
      { ref: { type: "ref/prompt", name: "lab_letter" }, argument: { name: "toString", value: "" } },
    ],
    [
      "completion with a value that is a number",
      "completion/complete",
      { ref: { type: "ref/prompt", name: "lab_letter" }, argument: { name: "key", value: 1 } },
    ],
  ])("%s is told", async (_what, method, params) => {
    expectRefusal(await errorOf(method, params), revision, INVALID);
  });

  const CURSORS: readonly unknown[] = [
    // Counts as left out in era 2025: clients-in-the-wild.test.ts.
    ...(era === "2025" ? [] : ["", null]),
    "garbage",
    "0",
    5,
    {},
    ["x"],
    "%",
    "~",
    "~ZZ",
    "tools~0A-1",
    "resources~0Acode -1",
    "resources~0Acode ",
    "resources~0Acode 1e2",
    "resources~0Acode 99999999999999999999",
    "resources~0Aelse 0",
    "\ud800",
    "é".repeat(8000),
    `resources~0Astored ${"é".repeat(8000)}`,
    "resources~0Astored \ud800",
    "x".repeat(10_000),
    "__proto__",
  ];
  test.each(["tools/list", "prompts/list", "resources/list", "resources/templates/list"])(
    "%s refuses every cursor that it did not give",
    async (method) => {
      for (const cursor of CURSORS) {
        const error = expectRefusal(await errorOf(method, { cursor }), revision, INVALID);
        expect(error.data).toMatchObject({ path: "cursor" });
      }
    },
  );

  const URIS = [
    "",
    "no-scheme",
    "://x",
    "lab:",
    " lab://notes",
    "lab://notes/a b",
    "lab://../notes",
    "lab://a/./b",
    "lab://a/%2e%2e/b",
    "lab://a%00",
    "lab://a\u0000",
    "lab://a\n",
    "lab://a%zz",
    "lab://a%",
    'lab://"',
    "lab://<x>",
    "lab://\\",
    `lab://${"x".repeat(2048)}`,
    `lab://${"é".repeat(400)}`,
  ];
  test("resources/read refuses what is no URI, and tells which rule it breaks", async () => {
    for (const uri of URIS) {
      const error = expectRefusal(await errorOf("resources/read", { uri }), revision, INVALID);
      expect(error.message).toMatch(/uri: a /);
    }
    for (const uri of [undefined, null, 5, ["lab://notes"], {}]) {
      expectRefusal(await errorOf("resources/read", { uri }), revision, INVALID);
    }
  });

  test("a URI that nothing is stored under is not found, by the code of its era", async () => {
    for (const uri of [
      "lab://notes/animals/unicorn",
      "http://169.254.169.254/",
      "file:///etc/passwd",
      "lab://__proto__",
      "lab://square/x",
    ]) {
      const reply = await errorOf("resources/read", { uri });
      const code = era === "2026" ? -32602 : -32002;
      expect(expectRefusal(reply, revision, { ...INVALID, code }).data).toMatchObject({ uri });
    }
  });

  test("a reader that throws says nothing of what happened", async () => {
    const reply = await errorOf("resources/read", { uri: "lab://broken/x" });
    expectRefusal(reply, revision, { ...INVALID, code: -32603 });
    expect(reply.text).not.toContain("collapsed");
  });

  test("arguments that break the schema are told without running the tool", async () => {
    for (const args of [
      {},
      { uri: 5 },
      { uri: "lab://bad/x", tags: "none" },
      { uri: "lab://bad/x", priority: "high" },
    ]) {
      const reply = await errorOf("tools/call", { name: "lab_write", arguments: args });
      expect(JSON.parse(reply.text)).toMatchObject({ id: 9, result: { isError: true } });
    }
    const old = await sendWritten(
      lab,
      write("2025-06-18", "tools/call", { name: "lab_write", arguments: { uri: 5 } }, 9),
    );
    expectRefusal(old, "2025-06-18", INVALID);
  });

  test("a resource that the store refuses is an error of the tool, and nothing is stored", async () => {
    const before = await stored("");
    for (const args of [
      { uri: "bad" },
      { uri: "lab://bad/../x" },
      { uri: `lab://bad/${"x".repeat(2048)}` },
      { uri: "lab://bad/x", name: "" },
      { uri: "lab://bad/x", priority: 2 },
      { uri: "lab://bad/x", tags: [""] },
      { uri: "lab://bad/x", tags: ["x".repeat(101)] },
      { uri: "lab://bad/x", base64: "not base64!" },
    ]) {
      const reply = await errorOf("tools/call", { name: "lab_write", arguments: args });
      expect(JSON.parse(reply.text)).toMatchObject({ id: 9, result: { isError: true } });
      expect(reply.text).not.toMatch(/\\n\s+at /);
    }
    expect(await stored("")).toBe(before);
  });
});
