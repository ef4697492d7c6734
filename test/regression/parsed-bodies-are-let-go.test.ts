// A hundred bodies of 219 KB, sent at once and without a key, ended an isolate of 128 MB: the listener for the abort of
// each request reached what had been parsed of it, and the platform keeps listeners until the whole invocation has ended.

import { expect, test } from "vitest";
import { bundleWorker, startWorker } from "../support/start-worker.ts";

const COUNT = 100;

test("an isolate of 128 MB answers 100 bodies of empty lists at once, three times over", async () => {
  const worker = await startWorker(await bundleWorker("demo-worker"), { heap: 128 });
  try {
    const emptyLists = `[${"[[[[{}]]]],".repeat(19_900)}0]`;
    const params = `{"name":"note_list","arguments":{"a":${emptyLists}}}`;
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
    const post = async () => {
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const response = await fetch(`${worker.origin}/mcp/demo`, { method: "POST", headers, body });
      await response.text();
      return response.status;
    };
    for (let round = 0; round < 3; round += 1) {
      const statuses = await Promise.all(Array.from({ length: COUNT }, post));
      // What has no room may come again.
      expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
    }
  } finally {
    await worker.stop();
  }
});
