// Revisions as data: which exist, what each knows, and what initialize answers to the version a client asks for.
import { describe, expect, test } from "vitest";
import {
  DEFAULT_DIALECT,
  dialect2025,
  DIALECT_2026,
  DIALECTS,
  LATEST_2025,
  negotiate,
  REVISIONS_2025,
} from "../../src/protocol/era.ts";

describe("the revisions", () => {
  test("are the four of era 2025 and the one of era 2026", () => {
    expect(Object.keys(DIALECTS)).toEqual([...REVISIONS_2025, "2026-07-28"]);
    expect(REVISIONS_2025.map((revision) => DIALECTS[revision].era)).toEqual(["2025", "2025", "2025", "2025"]);
    expect(DIALECT_2026.era).toBe("2026");
  });

  test.each(Object.entries(DIALECTS))("%s names itself in its row", (revision, dialect) => {
    expect(dialect.revision).toBe(revision);
  });

  test.each([
    ["2024-11-05", { batches: false, audio: false, resourceLinks: false, structured: "none" }],
    ["2025-03-26", { batches: true, audio: true, resourceLinks: false, structured: "none" }],
    ["2025-06-18", { batches: false, audio: true, resourceLinks: true, structured: "object" }],
    ["2025-11-25", { batches: false, audio: true, resourceLinks: true, structured: "object" }],
    ["2026-07-28", { batches: false, audio: true, resourceLinks: true, structured: "any" }],
  ] as const)("%s knows %o", (revision, features) => {
    expect(DIALECTS[revision]).toMatchObject(features);
  });

  test("invalid arguments move from the error into the result with 2025-11-25", () => {
    expect(Object.values(DIALECTS).map((dialect) => dialect.invalidArguments)).toEqual([
      "error",
      "error",
      "error",
      "result",
      "result",
    ]);
  });

  test("only era 2026 stamps results, hints at caching and logs by request", () => {
    for (const dialect of Object.values(DIALECTS)) {
      const is2026 = dialect.era === "2026";
      expect([dialect.stamps, dialect.caching, dialect.logging]).toEqual([
        is2026,
        is2026,
        is2026 ? "request" : "session",
      ]);
    }
  });

  test("a request that names no revision is taken for 2025-03-26", () => {
    expect(DEFAULT_DIALECT.revision).toBe("2025-03-26");
  });

  test("a header names a revision of era 2025 exactly or none", () => {
    expect(dialect2025("2025-06-18")).toBe(DIALECTS["2025-06-18"]);
    for (const other of ["2026-07-28", "", "1.0", "2025-06-18 ", "toString", "__proto__"]) {
      expect(dialect2025(other)).toBeUndefined();
    }
  });
});

describe("negotiation", () => {
  test.each(REVISIONS_2025)("%s is answered with itself", (revision) => {
    expect(negotiate(revision)).toEqual({ dialect: DIALECTS[revision], answered: revision, unofficial: false });
  });

  test("2024-10-07 is echoed and served as 2024-11-05", () => {
    expect(negotiate("2024-10-07")).toEqual({
      dialect: DIALECTS["2024-11-05"],
      answered: "2024-10-07",
      unofficial: false,
    });
  });

  test.each(["2026-07-28", "2025-01-01", "2099-12-31"])("%s is answered with the latest of era 2025", (requested) => {
    expect(negotiate(requested)).toEqual({ dialect: LATEST_2025, answered: "2025-11-25", unofficial: false });
  });

  test.each(["1.0", "", "latest", "2025-11-25-draft", "v999.0.0", "constructor"])(
    "%j is no official revision and is answered with the latest of era 2025",
    (requested) => {
      expect(negotiate(requested)).toEqual({ dialect: LATEST_2025, answered: "2025-11-25", unofficial: true });
    },
  );
});
