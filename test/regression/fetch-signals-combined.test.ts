// A signal that a handler gave to `ctx.fetch` took the place of the call's: what a call asked went on after its time was
// over. Either of the two ends it now.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mcpClient, ERAS } from "../support/mcp-client.ts";
import { bundleWorker, startWorker, type OneWorker } from "../support/start-worker.ts";

/** Answers nobody. */
const silent = createServer();
let worker: OneWorker;
beforeAll(async () => {
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  worker = await startWorker(await bundleWorker("authored-worker"), {
    vars: { OUTBOUND_LOCAL: "http://127.0.0.1" },
  });
});
afterAll(async () => {
  await worker.stop();
  silent.closeAllConnections();
  silent.close();
});

const WAYS = ERAS.flatMap(({ revision }) => ["init", "request", "own"].map((how) => ({ revision, how })));

test.each(WAYS)("is ended with its call, or by its own signal ($how, $revision)", async ({ revision, how }) => {
  const { port } = silent.address() as AddressInfo;
  const client = await mcpClient(revision, `${worker.origin}/mcp/other`);
  const question = once(silent, "request");
  const calling = client.request("tools/call", {
    name: "asks",
    arguments: { how, url: `http://127.0.0.1:${port}/` },
  });
  const [request] = (await question) as [{ readonly socket: Socket }];
  const left = once(request.socket, "close");
  const { error, result } = await calling;
  if (how === "own") expect(result["content"]).toEqual([{ type: "text", text: "ended: enough" }]);
  else expect(error?.message).toContain("asks took longer than 300 ms");
  await left;
});
