// /readyz is asked by machines that look at the status only.

import { expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";

const origin = fixtureOrigin();

test("/readyz answers 200 while storage works and 503 while it does not", async () => {
  expect((await fetch(`${origin}/readyz`)).status).toBe(200);
  expect((await fetch(`${origin}/readyz?fixture=kv-fails`)).status).toBe(503);
});
