// What is said of a parameter that occurs twice: its name, unless a name has become a text of its own.

import { expect, test } from "vitest";
import { findRepeated, repeatedMessage } from "../../src/login/server/authorize.ts";

test.each([
  ["state=1&state=2", "state must not occur twice"],
  ["a%22b=1&a%22b=2", "a parameter must not occur twice"],
  ["%1b%5b31m=1&%1b%5b31m=2", "a parameter must not occur twice"],
  [`${"x".repeat(65)}=1&${"x".repeat(65)}=2`, "a parameter must not occur twice"],
])("%s is refused in words that fit an error_description", (sent, told) => {
  expect(repeatedMessage(findRepeated(new URLSearchParams(sent)) ?? "")).toBe(told);
});
