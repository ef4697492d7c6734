// The running fixture Workers that end-to-end tests ask: as many as files run beside each other, each a process of its
// own that one file at a time has to itself (`fixture-origin.ts`). Started once, stopped at the end.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { ADMIN_TOKEN, TENANT_HOST } from "../../scripts/fixture-server.ts";
import { readModules, startWorker, writeBundle } from "./start-worker.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** By slot, the first of which is number one. */
    fixtureOrigins: readonly string[];
  }
}

const ENTRY = "worker";

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "tenantry-fixture-"));
  await writeBundle(ENTRY, "production", folder);
  const modules = await readModules(folder, `${ENTRY}.js`);
  await rm(folder, { recursive: true });
  // Upstreams of tests are servers on the loopback interface.
  const vars = { ADMIN_TOKEN, TENANT_HOST, OUTBOUND_LOCAL: "http://127.0.0.1" };
  const workers = await Promise.all(
    Array.from({ length: project.config.maxWorkers }, () => startWorker(modules, { vars })),
  );
  project.provide(
    "fixtureOrigins",
    workers.map(({ origin }) => origin),
  );
  return async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
  };
}
