// The owners of a server choose how long its keys are.

import { expect, test } from "vitest";
import { createIssuerCache, type CachedIssuer } from "../../../src/login/issuers/issuer-keys.ts";

test("a few servers with 256 KiB of keys are cached, or hundreds of usual ones", () => {
  const keptOf = (bytes: number) => {
    const read = createIssuerCache();
    const names = Array.from({ length: 5000 }, (_none, at) => String(at));
    for (const name of names) read.set(name, { bytes } as CachedIssuer);
    return names.filter((name) => read.get(name) !== undefined).length;
  };
  expect(keptOf(256 * 1024)).toBeLessThanOrEqual(33);
  const usual = keptOf(2000);
  expect([usual > 300, usual < 1000]).toEqual([true, true]);
});
