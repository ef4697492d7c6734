// Who waited for an access token that a request which had ended asked for was rejected by the platform at once, and waited again,
// for five seconds at full load: no other request of the isolate was answered meanwhile.

import { afterAll, beforeAll, expect, test } from "vitest";
import { OBJECT_CLASSES } from "../../src/tenants/directory/object-classes.ts";
import { bundleWorker, startWorker, type OneWorker } from "../support/start-worker.ts";

/** Less than the patience of who waits. */
const SOON_MS = 3000;

let worker: OneWorker;
beforeAll(async () => {
  worker = await startWorker(await bundleWorker("token-worker"), { missingBindings: [...OBJECT_CLASSES, "BODIES"] });
});
afterAll(() => worker.stop());

test("it is asked for again by the next request", async () => {
  await (await fetch(`${worker.origin}/leave`)).text();
  const signal = AbortSignal.timeout(SOON_MS);
  expect(await (await fetch(worker.origin, { signal })).text()).toBe("token");
});
