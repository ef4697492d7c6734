// A request that ended while it asked for a tenant's lease left a promise that the platform rejects for whoever waits for it: that
// isolate answered 503 for the tenant until it ended. Whoever waits asks itself.

import { afterAll, beforeAll, expect, test } from "vitest";
import { OBJECT_CLASSES } from "../../src/tenants/directory/object-classes.ts";
import { bundleWorker, startWorker, type OneWorker } from "../support/start-worker.ts";

let worker: OneWorker;
beforeAll(async () => {
  worker = await startWorker(await bundleWorker("flight-worker"), { missingBindings: [...OBJECT_CLASSES, "BODIES"] });
});
afterAll(() => worker.stop());

const ask = async (path = "/") => {
  const answer = await fetch(`${worker.origin}${path}`);
  return [answer.status, await answer.text()];
};

test("requests are answered that share the call of one that has ended, at once and later", async () => {
  for (let round = 0; round < 3; round += 1) {
    expect(await ask("/leave")).toEqual([200, "left"]);
    const all = await Promise.all(Array.from({ length: 50 }, () => ask()));
    expect(all).toEqual(Array.from(all, () => [200, "asked"]));
  }
  expect(await ask()).toEqual([200, "asked"]);
});
