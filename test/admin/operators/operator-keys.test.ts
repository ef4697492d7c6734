import { beforeEach, expect, it } from "vitest";
import { createOperatorKeys, type OperatorKeys } from "../../../src/login/operators/operator-keys.ts";

const ISSUER = "https://login.example.com";

let now = 0;
let requests: string[] = [];
let failed: unknown[] = [];
/** What the server does next. */
let answer: () => Promise<{ keys: [] }> = async () => ({ keys: [] });
let keysOf: OperatorKeys;

const context = { env: {}, onError: (error: unknown) => failed.push(error) };
const held = () => keysOf(ISSUER, context, false);
const newer = () => keysOf(ISSUER, context, true);

beforeEach(() => {
  now = Date.UTC(2026, 10, 22);
  requests = [];
  failed = [];
  answer = async () => ({ keys: [] });
  keysOf = createOperatorKeys(
    (issuer) => {
      requests.push(issuer);
      return answer();
    },
    () => now,
  );
});

it("the issuer's keys are read once in ten minutes", async () => {
  const first = await held();
  expect(first).toBeDefined();
  now += 599_999;
  expect(await held()).toBe(first);
  expect(requests).toEqual([ISSUER]);
  now += 1;
  expect(await held()).not.toBe(first);
  expect(requests).toHaveLength(2);
});

it("the issuer's keys are read at once for a token that none of them signed, at most every ten seconds", async () => {
  await held();
  now += 10_000;
  const next = await newer();
  for (let at = 0; at < 100; at += 1) expect(await newer()).toBe(next);
  expect(requests).toHaveLength(2);
  now += 9_999;
  await newer();
  expect(requests).toHaveLength(2);
  now += 1;
  expect(await newer()).not.toBe(next);
});

it("the issuer's keys are read once for concurrent requests", async () => {
  const all = await Promise.all(Array.from({ length: 20 }, held));
  expect(all.every((keys) => keys !== undefined && keys === all[0])).toBe(true);
  expect(requests).toHaveLength(1);
});

it("cached keys are used while they are refreshed", async () => {
  const first = await held();
  now += 600_000;
  let settle = () => {};
  answer = () =>
    new Promise((resolve) => {
      settle = () => resolve({ keys: [] });
    });
  const reading = held();
  expect(await held()).toBe(first);
  settle();
  expect(await reading).not.toBe(first);
});

it("the last good keys serve for a day while the server cannot be read, and none after it", async () => {
  const first = await held();
  answer = async () => {
    throw new Error("away");
  };
  now += 86_399_999;
  expect(await held()).toBe(first);
  expect(failed).toHaveLength(1);
  now += 1;
  expect(await held()).toBeUndefined();
  answer = async () => ({ keys: [] });
  now += 10_000;
  expect(await held()).toBeDefined();
});

it("keys of one server are not used for another", async () => {
  await held();
  await keysOf("https://other.example.com", context, false);
  expect(requests).toEqual([ISSUER, "https://other.example.com"]);
});

it("a token of newer keys is not known while the server cannot be read", async () => {
  await held();
  answer = async () => {
    throw new Error("away");
  };
  now += 10_000;
  expect(await newer()).toBeUndefined();
  expect(await newer()).toBeUndefined();
  expect(await held()).toBeDefined();
});

it("the issuer's keys are read again after a clock that was ahead by hours", async () => {
  now += 18_000_000;
  await held();
  now -= 18_000_000;
  await held();
  expect(requests).toHaveLength(2);
  await newer();
  expect(requests).toHaveLength(2);
});
