// Each test begins with the fixture Worker as the one that objects and entrypoints find.

import { afterAll, beforeEach } from "vitest";
import { restoreFixtureWorker } from "./fixture-registry.ts";

beforeEach(restoreFixtureWorker);
afterAll(restoreFixtureWorker);
