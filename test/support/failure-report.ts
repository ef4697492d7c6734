// Set up for end-to-end tests: the message of a test that fails ends with what it sent and what came back.

import { afterEach, beforeEach } from "vitest";
import { clearExchanges, lastExchanges } from "./exchange-log.ts";

beforeEach(clearExchanges);

afterEach(({ task }) => {
  const error = task.result?.errors?.at(-1);
  if (error) error.message += lastExchanges();
});
