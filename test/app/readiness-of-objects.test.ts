// A Worker whose object classes cannot be used answers 500 to everything: /readyz must say so, and the log why.

import { expect, onTestFinished, test } from "vitest";
import { OBJECT_CLASSES } from "../../src/tenants/directory/object-classes.ts";
import { startWorker, bundleWorker } from "../support/start-worker.ts";

const start = async (classesWithoutSqlite: readonly string[]) => {
  const worker = await startWorker(await bundleWorker("worker"), { classesWithoutSqlite });
  onTestFinished(() => worker.stop());
  return worker;
};

// A hub stores nothing, and can do without.
test.each(OBJECT_CLASSES.filter((name) => name !== "HubObject"))(
  "/readyz says unavailable where %s has no migration, and the log says why",
  async (name) => {
    const worker = await start([name]);
    for (let requestCount = 0; requestCount < 2; requestCount += 1) {
      const response = await fetch(`${worker.origin}/readyz`);
      expect([response.status, await response.json()]).toMatchObject([503, { status: "unavailable" }]);
    }
    await expect.poll(() => worker.log()).toContain(`the objects of ${name} do not answer`);
    expect(worker.log()).toContain("new_sqlite_classes");
  },
);

test("/readyz says ready where every class can be used", async () => {
  const worker = await start([]);
  const response = await fetch(`${worker.origin}/readyz`);
  expect([response.status, await response.json()]).toMatchObject([200, { status: "ready" }]);
});
