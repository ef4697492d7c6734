// What `tenantry` is outside of Workers: definitions are whole, and a Worker is one that cannot be asked. That it has every name is
// shown by test/e2e/package.test.ts.

import { describe, expect, it } from "vitest";
import * as outside from "../../src/testing/definitions.ts";

describe("tenantry in Node", () => {
  it("lets a file be imported that makes a Worker, which cannot be asked", async () => {
    const features = [outside.admin(), outside.gateway(), outside.login(), outside.links()];
    expect(features.every(({ name }) => name !== "")).toBe(true);
    const { fetch } = outside.createWorker();
    await expect(fetch()).rejects.toThrow("start it with wrangler dev, or run its tools");
  });

  it("throws for a definition that cannot be served, as it does in a Worker", () => {
    expect(() => outside.defineTool({ name: "no blanks", handler: () => "" })).toThrow(
      'tool "no blanks": a name must be',
    );
  });
});
