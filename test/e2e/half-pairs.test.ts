// Half of a surrogate pair in each text that a built-in tool takes: the tool says so or works, and is no fault of the server.

import { expect, test } from "vitest";
import { client2025, type Json } from "../support/mcp-client.ts";
import { sharedWorker } from "../support/start-worker.ts";

const { origin } = await sharedWorker("demo-worker");
const url = `${origin}/mcp/demo`;

const HALVES = ["\ud800", "a\udc00b", "end\ud83d"];

interface ListedTool {
  readonly name: string;
  readonly inputSchema: { readonly properties?: Readonly<Record<string, Json>>; readonly required?: readonly string[] };
}

/** Plain values for what is required, and half of a pair in one member. */
function argumentsWith({ inputSchema: { properties = {}, required = [] } }: ListedTool, member: string, half: string) {
  const kind = properties[member]?.["type"];
  const plain = Object.fromEntries(required.map((name) => [name, "plain"]));
  return { ...plain, [member]: kind === "array" ? [half] : half };
}

const takesText = ({ type }: Json) => type === "string" || type === "array";

test("every text of every tool may have one", async () => {
  const client = await client2025(url, "2025-11-25");
  const { tools } = (await client.request("tools/list", {})).result as unknown as { tools: readonly ListedTool[] };
  const requests = tools.flatMap((tool) =>
    Object.entries(tool.inputSchema.properties ?? {})
      .filter(([, schema]) => takesText(schema))
      .flatMap(([member]) => HALVES.map((half) => [tool, member, half] as const)),
  );
  expect(requests.length).toBeGreaterThan(20);
  for (const [tool, member, half] of requests) {
    const args = argumentsWith(tool, member, half);
    const { text } = await client.request("tools/call", { name: tool.name, arguments: args });
    expect([tool.name, member, text]).toEqual([
      tool.name,
      member,
      expect.not.stringMatching(/-32603|TypeError|failed/),
    ]);
  }
});

test.each(["title", "text", "tags"])(
  "a note with half of a pair in its %s is refused by name, and not saved",
  async (member) => {
    const client = await client2025(url, "2025-11-25");
    const id = `half-${crypto.randomUUID().slice(0, 8)}`;
    const args = { id, title: "Title", text: "Text.", [member]: member === "tags" ? ["a\ud800"] : "a\ud800" };
    const { result } = await client.request("tools/call", { name: "note_write", arguments: args });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(`^${member}: contains half`) }],
    });
    const read = await client.request("tools/call", { name: "note_read", arguments: { id } });
    expect(read.result).toMatchObject({ isError: true });
  },
);
