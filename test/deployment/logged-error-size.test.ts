// What is kept of an error is small before it is handed on, says no credential, and is there whatever was thrown.

import { expect, test, vi } from "vitest";
import { toErrorRecord } from "../../src/endpoint/telemetry/record-errors.ts";
import { logError } from "../../src/telemetry/error-line.ts";

const PLACE = { tenant: "acme", requestId: "id" };
const TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl";

test("an error of megabytes is cut to some thousand characters", () => {
  const { message, stack } = toErrorRecord(new Error("x".repeat(4_000_000), { cause: new Error("y") }), PLACE);
  expect([message.length, stack.length]).toEqual([8_192, 8_192]);
});

test("a logged error contains no person's token", () => {
  const { message, stack } = toErrorRecord(new Error(`refused: ${TOKEN}, and Bearer ${TOKEN}`), PLACE);
  expect(message).toBe("Error: refused: [credential], and [credential]");
  expect(stack).not.toContain("eyJ");
});

const THROWS = {
  toString: () => {
    throw new Error("no words");
  },
};

test.each([
  ["an object without a prototype", Object.create(null) as unknown],
  ["one whose words throw", THROWS],
  ["nothing", undefined],
  ["a stack that is none", { stack: { toString: THROWS.toString }, toString: () => "words" }],
])("%s is logged like any other error", (_what, thrown) => {
  expect(toErrorRecord(thrown, PLACE)).toMatchObject({
    ...PLACE,
    message: expect.any(String),
    stack: expect.any(String),
  });
});

test.each([
  [{}, "Error: no token"],
  [{ tenant: "acme", method: "POST" }, "acme: POST: Error: no token"],
])("the line of a deployed Worker for %o begins with %s", (context, message) => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  vi.stubEnv("NODE_ENV", "production");
  try {
    logError(new Error("no token"), context);
    expect(JSON.parse(String(logged.mock.calls[0]?.[0]))).toMatchObject({ message });
  } finally {
    vi.unstubAllEnvs();
    logged.mockRestore();
  }
});
