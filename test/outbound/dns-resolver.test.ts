// What is known of a name while the resolver is away, or the clock was set: never for longer than an answer may be kept, and
// an answer that is not known is none.

import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createResolver } from "../../src/outbound/dns-resolver.ts";

const ADDRESS = "93.184.215.14";
const MOST_MS = 300_000;

/** A resolver of a test's own. */
function scene({ ttl = 30 } = {}) {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
  const state = { away: undefined as (() => Promise<Response>) | undefined, requestCount: 0, answers: [ADDRESS] };
  vi.stubGlobal("fetch", async () => {
    state.requestCount += 1;
    if (state.away) return state.away();
    return Response.json({ Answer: state.answers.map((data) => ({ type: 1, TTL: ttl, data })) });
  });
  const name = `${crypto.randomUUID()}.example.com`;
  const resolve = async () => createResolver(`https://resolver.example.com/${name}`)?.(name);
  return { state, resolve, after: (ms: number) => vi.setSystemTime(Date.now() + ms) };
}

const FAULTS: readonly (readonly [string, () => Promise<Response>])[] = [
  ["cannot be reached", async () => Promise.reject(new Error("Network connection lost."))],
  ["answers 503", async () => new Response(null, { status: 503 })],
  ["answers a page", async () => new Response("<html></html>")],
];

describe.each(FAULTS)("while a resolver %s", (_what, away) => {
  it("a name that was looked up is what it was, for five minutes from then on", async () => {
    const { state, resolve, after } = scene();
    expect(await resolve()).toContain(ADDRESS);
    state.away = away;
    for (let passed = 0; passed < MOST_MS - 60_000; passed += 60_000) {
      after(60_000);
      expect(await Promise.all([resolve(), resolve()])).toEqual([
        expect.arrayContaining([ADDRESS]),
        expect.arrayContaining([ADDRESS]),
      ]);
    }
    after(60_000);
    expect(await resolve()).toEqual([]);
  });

  it("a name that was not looked up stands for nothing, and is looked up again as soon as somebody asks", async () => {
    const { state, resolve } = scene();
    state.away = away;
    expect(await resolve()).toEqual([]);
    state.away = undefined;
    expect(await resolve()).toContain(ADDRESS);
  });

  it("it is asked no more than every ten seconds for what is known", async () => {
    const { state, resolve, after } = scene();
    await resolve();
    state.away = away;
    after(40_000);
    await resolve();
    const { requestCount } = state;
    after(9000);
    await resolve();
    expect(state.requestCount).toBe(requestCount);
    state.away = undefined;
    state.answers = ["10.0.0.1"];
    after(2000);
    expect(await resolve()).toContain("10.0.0.1");
  });
});

it("a name is looked up again where the clock was set back by more than an answer is kept", async () => {
  const { state, resolve, after } = scene({ ttl: 300 });
  await resolve();
  state.answers = ["10.0.0.1"];
  after(-3_600_000);
  expect(await resolve()).toContain("10.0.0.1");
});
