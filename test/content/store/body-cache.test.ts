// An isolate's memory of bodies: bounded in bytes, and what was used last stays.

import { expect, it } from "vitest";
import { recallBody, rememberBody } from "../../../src/content/store/body-cache.ts";

const KIB = 1024;
const body = (kib: number) => new ArrayBuffer(kib * KIB);

it("the cache of bodies gives back what it remembers, by key", () => {
  const bytes = body(1);
  rememberBody("body/acme/1", bytes);
  expect(recallBody("body/acme/1")).toBe(bytes);
  expect(recallBody("body/globex/1")).toBeUndefined();
});

it("the cache of bodies does not remember large ones", () => {
  rememberBody("fits", body(256));
  rememberBody("large", new ArrayBuffer(256 * KIB + 1));
  expect([recallBody("fits")?.byteLength, recallBody("large")]).toEqual([256 * KIB, undefined]);
});

it("the cache of bodies drops what was not used for longest, and never holds more than 8 MiB", () => {
  const keys = Array.from({ length: 40 }, (_, at) => `filler ${at}`);
  rememberBody("in use", body(256));
  for (const key of keys) {
    rememberBody(key, body(256));
    rememberBody(key, body(256));
    recallBody("in use");
  }
  const held = keys.filter((key) => recallBody(key) !== undefined);
  expect(held).toEqual(keys.slice(-31));
  expect(recallBody("in use")).toBeDefined();
});
