// The mark of a tenant's calls was kept as the promise that makes it: one that failed, failed every call to an upstream
// until the tenant's keys changed.

import { expect, it } from "vitest";
import { viaOfCall } from "../../src/gateway/guard/circle.ts";

it("is made again at the next call, and then kept", async () => {
  let asked = 0;
  const key = {
    id: "k1",
    get secret() {
      asked += 1;
      if (asked === 1) throw new Error("the keys cannot be had");
      return new Uint8Array(32);
    },
  };
  await expect(viaOfCall([key], null)).rejects.toThrow("cannot be had");
  const mark = await viaOfCall([key], null);
  expect(mark).toMatch(/^[\w-]{38}$/);
  expect(viaOfCall([key], null)).toBe(mark);
});
