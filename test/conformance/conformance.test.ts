// The official conformance suite against the fixture Worker in a real `wrangler dev`, once per revision.
// Slow by nature; what may fail is listed, with its reason, in expected-failures.json.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { REVISIONS, runConformance } from "../../scripts/conformance-run.ts";
import type { FixtureServer } from "../../scripts/fixture-server.ts";
import { startFixtureServer } from "../../scripts/fixture-server.ts";

const START_MS = 120_000;
const RUN_MS = 600_000;

describe("the official conformance suite", () => {
  let server: FixtureServer;

  beforeAll(async () => {
    server = await startFixtureServer();
  }, START_MS);

  afterAll(() => server.stop());

  it.each(REVISIONS)(
    "finds nothing unexpected in %s",
    async (revision) => {
      const [verdict] = await runConformance({ url: server.url, revisions: [revision] });
      expect(verdict?.problems).toEqual([]);
    },
    RUN_MS,
  );
});
