// A client that was answered 2024-10-07 may say so in its version header from then on.
import { expect, test } from "vitest";
import { classify } from "../../src/protocol/classify.ts";
import { negotiate } from "../../src/protocol/revisions.ts";

test.each(["2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])(
  "the version that initialize answered %s with is served",
  (requested) => {
    const { version: answered, revision } = negotiate(requested);
    const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const classified = classify(body, { version: answered, session: "s", method: null, name: null });
    expect(classified).toMatchObject({ kind: "message2025", revision: { version: revision.version } });
  },
);
