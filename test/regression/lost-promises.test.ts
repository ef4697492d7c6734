// A promise that a handler let go and that was rejected was in no log. The first one of an isolate is told without its call:
// to know whose they are costs each call, so that is asked of the platform from then on.

import { expect, test } from "vitest";
import { mcpClient, ERAS } from "../support/mcp-client.ts";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { sharedWorker } from "../support/start-worker.ts";

const worker = await sharedWorker("authored-worker", { ADMIN_TOKEN });

const LOST = "a promise was rejected and not awaited: Error: lost by";

test.each(ERAS)("what a handler lets go is logged in era $era, with its tenant, tool and request", async (era) => {
  const client = await mcpClient(era.revision, `${worker.origin}/mcp/acme`);
  const call = async () => {
    const { result } = await client.request("tools/call", { name: "loses" });
    return (result["content"] as { text: string }[])[0]?.text ?? "";
  };
  const first = await call();
  await expect.poll(() => worker.log()).toContain(`${LOST} ${first}`);
  const second = await call();
  await expect
    .poll(() => worker.log())
    .toContain(`acme: tools/call loses, request ${second}: Error: ${LOST} ${second}`);
});

test("what it gives to waitUntil is logged from the first time on", async () => {
  const client = await mcpClient("2026-07-28", `${worker.origin}/mcp/acme`);
  const { result } = await client.request("tools/call", { name: "loses" });
  const id = (result["content"] as { text: string }[])[0]?.text ?? "";
  await expect.poll(() => worker.log()).toContain(`acme: tools/call loses, request ${id}: Error: left by ${id}`);
});
