import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ReplayState } from "../../src/handlers/elicitor.ts";
import {
  CALL_LIFETIME_MS,
  openReplayState,
  readResponses,
  sealReplayState,
  STATE_LIFETIME_MS,
  type StateBinding,
} from "../../src/handlers/request-state.ts";
import type { McpRequest } from "../../src/protocol/mcp-request.ts";
import { callOf } from "../support/workerd/calls.ts";

const key = (id: string) => ({ id, secret: crypto.getRandomValues(new Uint8Array(32)) });
const binding: StateBinding = { tenant: "acme", profile: null, principal: "anonymous", ring: [key("k")] };
const NOW = Date.UTC(2026, 10, 21);
const params = { name: "deploy", arguments: { to: "production", force: false } };
const call = callOf({ params });
const progress: ReplayState = {
  nonce: "n",
  round: 1,
  answers: { who: { digest: "d", answer: { action: "accept" } } },
  asked: { who: "d" },
  memos: { "memo draft": "the secret draft" },
};

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: NOW }));
afterEach(() => void vi.useRealTimers());

async function sealed(about: Partial<ReplayState> = {}): Promise<string> {
  const state = await sealReplayState(binding, call, { ...progress, ...about });
  if (typeof state !== "string") throw new Error(state.broken);
  return state;
}

function continued(state: unknown, about: Partial<McpRequest> = {}, by: Partial<StateBinding> = {}) {
  const again = callOf({ ...about, params: { ...(about.params ?? params), requestState: state } });
  return openReplayState({ ...binding, ...by }, again);
}

const refusal = (why: string) => ({
  kind: "failure",
  error: "invalidParams",
  message: expect.stringContaining(`requestState ${why}`),
  data: { path: "requestState" },
});

describe("a state", () => {
  it("gives the progress back to the request it belongs to, whatever its id, meta and answers", async () => {
    const state = await sealed();
    expect(await continued(state)).toEqual(progress);
    const again = { ...params, inputResponses: { who: {} }, _meta: { progressToken: 1 } };
    expect(await continued(state, { id: 99, params: again })).toEqual(progress);
    expect(
      await continued(state, { params: { arguments: { force: false, to: "production" }, name: "deploy" } }),
    ).toEqual(progress);
  });

  it("is absent from a request without one", async () => {
    expect(await openReplayState(binding, call)).toBeUndefined();
  });

  it("shows nothing of what is in it", async () => {
    const state = await sealed();
    expect(atob(state.slice(2).replaceAll("-", "+").replaceAll("_", "/"))).not.toContain("draft");
  });

  it.each<[string, Partial<McpRequest>, Partial<StateBinding>]>([
    ["other arguments", { params: { ...params, arguments: { to: "staging" } } }, {}],
    ["no arguments", { params: { name: "deploy" } }, {}],
    ["another tool", { params: { ...params, name: "destroy" } }, {}],
    ["another method", { method: "prompts/get" }, {}],
    ["another tenant", {}, { tenant: "globex" }],
    ["another profile", {}, { profile: "team" }],
    ["another principal", {}, { principal: "key:1" }],
  ])("is refused with %s", async (_what, about, by) => {
    expect(await continued(await sealed(), about, by)).toEqual(
      refusal("belongs to another request; send the request again without it"),
    );
  });

  it.each<[string, (state: string) => unknown]>([
    ["a number", () => 7],
    ["null", () => null],
    ["empty", () => ""],
    ["changed in one character", (state) => state.replace(/.$/, (last) => (last === "A" ? "B" : "A"))],
    ["cut off", (state) => state.slice(0, -4)],
    ["endless", (state) => state + "A".repeat(70_000)],
  ])("is refused when it is %s", async (_what, change) => {
    expect(await continued(change(await sealed()))).toEqual(refusal("is invalid; send the request again without it"));
  });

  it("is refused under another tenant's keys, and without keys", async () => {
    const state = await sealed();
    expect(await continued(state, {}, { ring: [key("k")] })).toEqual(
      refusal("is invalid; send the request again without it"),
    );
    expect(await continued(state, {}, { ring: [key("new"), ...binding.ring] })).toEqual(progress);
    expect(await continued(state, {}, { ring: [] })).toEqual(refusal("is invalid; send the request again without it"));
  });

  it("ends after its lifetime", async () => {
    const state = await sealed();
    vi.setSystemTime(NOW + STATE_LIFETIME_MS);
    expect(await continued(state)).toEqual(progress);
    vi.setSystemTime(NOW + STATE_LIFETIME_MS + 1);
    expect(await continued(state)).toEqual(refusal("has expired"));
  });

  it("is not made for more rounds than a call may have", async () => {
    expect(typeof (await sealed({ round: 20 }))).toBe("string");
    expect(await sealReplayState(binding, call, { ...progress, round: 21 })).toEqual({
      broken: "a call must ask in at most 20 rounds",
    });
  });

  it("is not made larger than a client must carry", async () => {
    const memos = { big: "x".repeat(65_536) };
    expect(await sealReplayState(binding, call, { ...progress, memos })).toEqual({
      broken: "the answers and memos of this call are too large",
    });
  });

  it("cannot outlive what was claimed under its nonce", () => {
    // Twenty rounds, each continued in its last moment, and the first request before them.
    expect(CALL_LIFETIME_MS).toBeGreaterThanOrEqual(21 * STATE_LIFETIME_MS);
  });
});

describe("readResponses", () => {
  it("reads an object, or none", () => {
    expect(readResponses({})).toEqual({ value: {} });
    expect(readResponses({ inputResponses: { a: 1 } })).toEqual({ value: { a: 1 } });
  });

  it.each([null, [], "x", 7])("refuses %j", (inputResponses) => {
    expect(readResponses({ inputResponses })).toMatchObject({ kind: "failure", error: "invalidParams" });
  });
});
