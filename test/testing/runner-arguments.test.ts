// What `tenantry/testing` is given to run: what is no definition is refused in words, in JavaScript too.

import { expect, it } from "vitest";
import { definePrompt } from "../../src/handlers/prompt.ts";
import { defineTool } from "../../src/handlers/tool.ts";
import { listFrom, readFrom, runPrompt, runTool } from "../../src/testing/testing.ts";

const tool = defineTool({ name: "hello", handler: () => "Hello" });
const prompt = definePrompt({ name: "hello", handler: () => "Hello" });

it.each<[runner: string, run: (one: never) => Promise<unknown>, runs: string, others: readonly unknown[]]>([
  ["runTool", runTool, "a tool", [prompt, "hello", undefined, () => "Hello", { name: "hello" }]],
  ["runPrompt", runPrompt, "a prompt", [tool, "hello", undefined]],
  ["readFrom", (one) => readFrom(one, "a:b"), "a resource or a template", [tool, "a:b", undefined]],
  ["listFrom", listFrom, "a template", [tool, undefined]],
])("%s says what it runs where it is given something else", async (runner, run, runs, others) => {
  for (const other of others) {
    const running = (async () => run(other as never))();
    await expect(running).rejects.toThrow(`${runner} runs ${runs}: give it what define... returned`);
  }
});
