// A folder that the files of one run of the tests share, gone at its end; what is in it is `once-per-run.ts`'s.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    runFolder: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "tenantry-run-"));
  project.provide("runFolder", folder);
  return () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
