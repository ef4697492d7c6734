// Streams that were refused because their hub was away were counted as open for good.

import { expect, onTestFinished, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { write } from "../support/raw-http.ts";
import { bundleWorker, startWorker } from "../support/start-worker.ts";

test("they are not among the open ones", async () => {
  const worker = await startWorker(await bundleWorker("levels-worker"), { vars: { ADMIN_TOKEN } });
  onTestFinished(() => worker.stop());
  const open = async () => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const counters = await (await fetch(`${worker.origin}/admin/v1/metrics`, { headers })).text();
    return /"openStreams":(\d+)/.exec(counters)?.[1];
  };
  const { headers, body } = write("2026-07-28", "subscriptions/listen", { notifications: { toolsListChanged: true } });
  await fetch(`${worker.origin}/__away`);
  for (let times = 0; times < 3; times += 1) {
    const answer = await fetch(`${worker.origin}/mcp/demo`, { method: "POST", headers, body: JSON.stringify(body) });
    expect(await answer.text()).toContain('"error"');
  }
  await expect.poll(open).toBe("0");
});
