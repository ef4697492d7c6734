// What `tenantry/testing` is given to run: what is no definition is refused in words, in JavaScript too.

import { expect, it } from "vitest";
import { definePrompt } from "../../src/handlers/prompt.ts";
import { defineTool } from "../../src/handlers/tool.ts";
import { listFrom, readFrom, runPrompt, runTool } from "../../src/testing/testing.ts";

const tool = defineTool({ name: "hello", handler: () => "Hello" });
const prompt = definePrompt({ name: "hello", handler: () => "Hello" });

it.each<
  [runner: string, run: (one: never) => Promise<unknown>, maker: string, others: Readonly<Record<string, unknown>>]
>([
  [
    "runTool",
    runTool,
    "defineTool",
    {
      "a prompt": prompt,
      "a string": "hello",
      undefined,
      "a function": () => "Hello",
      "an object": { name: "hello" },
    },
  ],
  ["runPrompt", runPrompt, "definePrompt", { "a tool": tool, "a string": "hello", undefined }],
  [
    "readFrom",
    (one) => readFrom(one, "a:b"),
    "defineResource or defineTemplate",
    { "a tool": tool, "a string": "a:b", undefined },
  ],
  ["listFrom", listFrom, "defineTemplate", { "a tool": tool, undefined }],
])("%s says what it takes and what it got", async (runner, run, maker, others) => {
  for (const [got, other] of Object.entries(others)) {
    const running = (async () => run(other as never))();
    await expect(running).rejects.toThrow(`${runner} takes what ${maker} returned, it got ${got}`);
  }
});
