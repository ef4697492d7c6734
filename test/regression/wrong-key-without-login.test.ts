// A client that is refused and told of no login tries to register, and shows its person what that answers: it spoke of paths, and
// nobody learned that the key was wrong.

import { expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { sendRaw } from "../support/raw-http.ts";

test("a client that tries to register where no login is, is told of the key", async () => {
  const body = JSON.stringify({ redirect_uris: ["http://127.0.0.1/callback"] });
  const headers = { "content-type": "application/json" };
  const { status, text } = await sendRaw(`${fixtureOrigin()}/register`, { headers, body });
  expect(status).toBe(404);
  expect(text).toContain("clients cannot register here. The API key is wrong or missing");
});

test.each([
  ["POST", "/registered"],
  ["GET", "/register"],
])("%s %s is answered with where endpoints are", async (method, path) => {
  const { status, text } = await sendRaw(`${fixtureOrigin()}${path}`, { method });
  expect({ status, text }).toEqual({ status: 404, text: expect.stringContaining("/mcp/{tenant}") as string });
});
