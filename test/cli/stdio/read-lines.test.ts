// What a bridge keeps of what went through it: nothing. Bridges live as long as their clients, which may be weeks.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { readLines } from "../../../src/cli/stdio/read-lines.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test("a bridge lets go of the lines that were read", async () => {
  const chunks: WeakRef<Buffer>[] = [];
  let left = 50;
  const input: AsyncIterable<Buffer> = {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        left -= 1;
        if (left < 0) return new Promise<never>(() => {});
        const value = Buffer.from(`{"n":${left}}\n`);
        chunks.push(new WeakRef(value));
        return { done: false, value };
      },
    }),
  };
  const lines = readLines(input, new AbortController().signal);
  for (let read = 0; read < 50; read += 1) await lines.next();
  // A reference is held until the end of the turn that made it.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(chunks.filter((chunk) => chunk.deref()).length).toBeLessThan(5);
});
