// An isolate's memory of bodies: bounded in bytes, and what was used last stays.

import { expect, it } from "vitest";
import { getCachedBody, cacheBody } from "../../src/resources/body-cache.ts";

const KIB = 1024;
const body = (kib: number) => new ArrayBuffer(kib * KIB);

it("the cache of bodies gives back what it remembers, by key", () => {
  const bytes = body(1);
  cacheBody("body/acme/1", bytes);
  expect(getCachedBody("body/acme/1")).toBe(bytes);
  expect(getCachedBody("body/globex/1")).toBeUndefined();
});

it("the cache of bodies does not remember large ones", () => {
  cacheBody("fits", body(256));
  cacheBody("large", new ArrayBuffer(256 * KIB + 1));
  expect([getCachedBody("fits")?.byteLength, getCachedBody("large")]).toEqual([256 * KIB, undefined]);
});

it("the cache of bodies drops what was not used for longest, and never holds more than 8 MiB", () => {
  const keys = Array.from({ length: 40 }, (_, at) => `filler ${at}`);
  cacheBody("in use", body(256));
  for (const key of keys) {
    cacheBody(key, body(256));
    cacheBody(key, body(256));
    getCachedBody("in use");
  }
  const held = keys.filter((key) => getCachedBody(key) !== undefined);
  expect(held).toEqual(keys.slice(-31));
  expect(getCachedBody("in use")).toBeDefined();
});
