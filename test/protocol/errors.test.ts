import { describe, expect, test } from "vitest";
import { AppError } from "../../src/protocol/app-error.ts";
import { ERRORS, errorCode, errorStatus, type ErrorKey } from "../../src/protocol/errors.ts";

const KEYS = Object.keys(ERRORS) as ErrorKey[];

describe("the table", () => {
  test.each<[ErrorKey, string, string]>([
    ["parseError", "400 -32700", "400 -32700"],
    ["invalidRequest", "400 -32600", "400 -32600"],
    ["methodNotFound", "200 -32601", "404 -32601"],
    ["invalidParams", "200 -32602", "200 -32602"],
    ["invalidMetadata", "400 -32602", "400 -32602"],
    ["internal", "200 -32603", "200 -32603"],
    ["missingCapability", "400 -32600", "400 -32021"],
    ["unsupportedVersion", "400 -32600", "400 -32022"],
    ["resourceNotFound", "200 -32002", "200 -32602"],
    ["timeout", "200 -32001", "200 -32603"],
    ["sessionRequired", "400 -32600", "400 -32600"],
    ["sessionNotFound", "404 -32600", "404 -32600"],
    ["forbiddenOrigin", "403 -32600", "403 -32600"],
    ["methodNotAllowed", "405 -32600", "405 -32600"],
    ["notAcceptable", "406 -32600", "406 -32600"],
    ["tooLarge", "413 -32600", "413 -32600"],
    ["unsupportedMediaType", "415 -32600", "415 -32600"],
    ["unavailable", "503 -32603", "503 -32603"],
  ])("%s is %s in era 2025 and %s in era 2026", (key, in2025, in2026) => {
    expect(`${errorStatus(key, "2025")} ${errorCode(key, "2025")}`).toBe(in2025);
    expect(`${errorStatus(key, "2026")} ${errorCode(key, "2026")}`).toBe(in2026);
  });

  test("a header mismatch is 400 -32020 in era 2026", () => {
    expect([errorStatus("headerMismatch", "2026"), errorCode("headerMismatch", "2026")]).toEqual([400, -32020]);
  });

  test("era 2026 emits no code of the older implementation range and none that a revision withdrew", () => {
    const emitted = KEYS.map((key) => errorCode(key, "2026"));
    expect(emitted.filter((code) => (code >= -32019 && code <= -32000) || code === -32042)).toEqual([]);
  });

  test("the range of the specification holds only the three codes that it defines", () => {
    const reserved = KEYS.map((key) => errorCode(key, "2026")).filter((code) => code >= -32099 && code <= -32020);
    expect([...new Set(reserved)].toSorted((a, b) => b - a)).toEqual([-32020, -32021, -32022]);
  });

  test("each error has an integer code and a status of success or of an error", () => {
    for (const key of KEYS) {
      for (const era of ["2025", "2026"] as const) {
        const status = errorStatus(key, era);
        expect([key, Number.isInteger(errorCode(key, era))]).toEqual([key, true]);
        expect([key, status === 200 || (status >= 400 && status < 600)]).toEqual([key, true]);
      }
    }
  });
});

describe("an AppError", () => {
  test("shows the table's text unless it was given one", () => {
    expect(new AppError("unavailable").toFailure()).toEqual({ kind: "failure", error: "unavailable" });
    expect(new AppError("unavailable", { message: "later", retryAfter: 3 }).toFailure()).toEqual({
      kind: "failure",
      error: "unavailable",
      message: "later",
      retryAfter: 3,
    });
  });

  test("keeps its cause for logs and out of what it shows", () => {
    const cause = new Error("secret");
    const error = new AppError("internal", { cause });
    expect(error.cause).toBe(cause);
    expect(error).toBeInstanceOf(Error);
    expect(JSON.stringify(error.toFailure())).not.toContain("secret");
  });
});
