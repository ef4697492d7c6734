// Which Workers the objects and entrypoints of the tests' script find: the fixture's, unless a test makes one of its
// own.

import "../../fixtures/worker.ts";

type Workers = Map<string, unknown>;

const found = (globalThis as { [place: symbol]: Workers | undefined })[Symbol.for("tenantry.workers")] as Workers;
const ofFixture = [...found];

/** After a Worker was made that is somebody else's, or of a test that is over. */
export function findFixture(): void {
  for (const [path, worker] of ofFixture) found.set(path, worker);
}
