// The Worker that objects and entrypoints of the tests' script call: the one that was created last at its path. That is
// the fixture's, unless a test creates one of its own.

import "../../fixtures/worker.ts";

type Workers = Map<string, unknown>;

const found = (globalThis as { [place: symbol]: Workers | undefined })[Symbol.for("tenantry.workers")] as Workers;
const ofFixture = [...found];

/** For a test that created a Worker which stands for another deployment, such as an upstream. */
export function restoreFixtureWorker(): void {
  for (const [path, worker] of ofFixture) found.set(path, worker);
}
