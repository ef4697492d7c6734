import { expect, test } from "vitest";
import { personName } from "../../../src/login/pages/client-summary.ts";

const identity = (more: object) => ({ issuer: "https://idp.example", subject: "u-1", ...more }) as never;

test.each([
  [{ name: "Ada", email: "ada@example.com" }, "Ada (ada@example.com)"],
  [{ name: "Ada" }, "Ada"],
  [{ email: "ada@example.com" }, "ada@example.com"],
  [{ name: "ada@example.com", email: "ada@example.com" }, "ada@example.com"],
  [{}, "u-1"],
  [{ issuer: "key", subject: "first" }, "the key first"],
])("a person with %j is shown as %s", (more, shown) => {
  expect(personName(identity(more))).toBe(shown);
});
