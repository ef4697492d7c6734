// Sixteen bodies of 4 MB, sent at once and without a key, ended an isolate of 128 MB: they counted as their bytes, but one
// emoji doubles the memory of the text around it, and parsing copies the text.

import { expect, test } from "vitest";
import { bundleWorker, startWorker } from "../support/start-worker.ts";

test.each([
  ["an emoji", "😀"],
  ["an escaped character", "\\u20ac"],
])("an isolate of 128 MB answers 40 bodies of 4 MB with %s at once, three times over", async (_what, character) => {
  const worker = await startWorker(await bundleWorker("demo-worker"), { heap: 128 });
  try {
    const params = `{"name":"note_list","arguments":{"a":"${"x".repeat(3_999_900)}${character}"}}`;
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
    const post = async () => {
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const response = await fetch(`${worker.origin}/mcp/demo`, { method: "POST", headers, body });
      await response.text();
      return response.status;
    };
    for (let round = 0; round < 3; round += 1) {
      const statuses = await Promise.all(Array.from({ length: 40 }, post));
      expect(statuses).toContain(200);
      // What has no room may come again.
      expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
    }
  } finally {
    await worker.stop();
  }
});
