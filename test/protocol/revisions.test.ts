import { describe, expect, test } from "vitest";
import {
  findRevision2025,
  REVISION_FEATURES,
  LATEST_2025,
  negotiate,
  VERSIONS_2025,
} from "../../src/protocol/revisions.ts";

test("a header names a revision of era 2025 exactly or none", () => {
  expect(findRevision2025("2025-06-18")).toBe(REVISION_FEATURES["2025-06-18"]);
  for (const other of ["2026-07-28", "", "1.0", "2025-06-18 ", "toString", "__proto__"]) {
    expect(findRevision2025(other)).toBeUndefined();
  }
});

describe("negotiation", () => {
  test.each(VERSIONS_2025)("%s is answered with itself", (revision) => {
    expect(negotiate(revision)).toEqual({
      revision: REVISION_FEATURES[revision],
      version: revision,
      isUnknownRevision: false,
    });
  });

  test("2024-10-07 is echoed and served as 2024-11-05", () => {
    expect(negotiate("2024-10-07")).toEqual({
      revision: REVISION_FEATURES["2024-11-05"],
      version: "2024-10-07",
      isUnknownRevision: false,
    });
  });

  test.each(["2026-07-28", "2025-01-01", "2099-12-31"])("%s is answered with the latest of era 2025", (requested) => {
    expect(negotiate(requested)).toEqual({ revision: LATEST_2025, version: "2025-11-25", isUnknownRevision: false });
  });

  test.each(["1.0", "", "latest", "2025-11-25-draft", "v999.0.0", "constructor"])(
    "%j is no official revision and is answered with the latest of era 2025",
    (requested) => {
      expect(negotiate(requested)).toEqual({ revision: LATEST_2025, version: "2025-11-25", isUnknownRevision: true });
    },
  );
});
