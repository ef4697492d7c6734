import { env } from "cloudflare:workers";
import { test, expect } from "vitest";
test("x", async () => {
  expect(await env.SESSIONS.getByName("a").logLevel()).toBe(undefined);
});
