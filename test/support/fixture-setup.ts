// Owns the running fixture Worker that all end-to-end tests share: started once, stopped at the end.

import type { TestProject } from "vitest/node";
import { startFixtureServer } from "../../scripts/fixture-server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Origin of the fixture Worker, without a trailing slash. */
    fixtureOrigin: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startFixtureServer({});
  project.provide("fixtureOrigin", server.url);
  return () => server.stop();
}
