// Whoever came to a tenant while its author's function was asked about it first was told 401: clients log in again, or drop their
// session. What is known is known to all who wait for it.

import { expect, test } from "vitest";
import { ERAS, post } from "../support/mcp-client.ts";
import { write } from "../support/raw-http.ts";
import { sharedWorker } from "../support/start-worker.ts";

const worker = await sharedWorker("tenant-function-worker");

test.each(ERAS)("all who come at once in era $era are served by a slow function", async ({ era, revision }) => {
  const { headers, body } = write(revision, "tools/call", { name: "see" });
  const call = async () => (await post(`${worker.origin}/mcp/slow-many-${era}`, body, { headers })).status;
  const statuses = await Promise.all(Array.from({ length: 50 }, call));
  expect(new Set(statuses)).toEqual(new Set([200]));
  const requests = (await (await fetch(`${worker.origin}/asked`)).json()) as string[];
  // Three times whether there is such a tenant, and three times what it is under a lease.
  expect(requests.filter((id) => id === `slow-many-${era}`).length).toBeLessThanOrEqual(6);
});
