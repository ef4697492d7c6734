import { describe, expect, it } from "vitest";
import type { ReadReturn } from "../../src/handlers/resource-contents.ts";
import { defineResource, defineTemplate } from "../../src/handlers/resource.ts";
import { resolveLimits } from "../../src/limits/limit-definitions.ts";
import type { RequestScope } from "../../src/handlers/request-scope.ts";
import { callOf, requestScopeOf } from "../support/workerd/calls.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

const ref = { uri: "file:a", asked: "FILE:a" };
const call = callOf({ method: "resources/read" });
const BYTES = Uint8Array.of(0, 255);
const streamOf = (...chunks: unknown[]) =>
  new ReadableStream({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });

const read = (given: () => ReadReturn | Promise<ReadReturn>, about: Partial<RequestScope> = {}) =>
  defineResource({ uri: "file:a", name: "a", mimeType: "x/declared", read: given }).read(
    ref,
    call,
    requestScopeOf(freshTenant(), about),
  );

describe("contents", () => {
  const blob = { uri: "FILE:a", blob: "AP8=", mimeType: "x/declared" };
  const cases: [string, () => ReadReturn | Promise<ReadReturn>, unknown[]][] = [
    ["text", () => "hi", [{ uri: "FILE:a", text: "hi", mimeType: "x/declared" }]],
    ["bytes", () => BYTES, [blob]],
    ["a buffer", () => BYTES.buffer, [blob]],
    ["a buffer that comes later", async () => BYTES.buffer, [blob]],
    ["a stream", () => streamOf(BYTES.slice(0, 1), BYTES.slice(1)), [blob]],
    ["an empty stream", () => streamOf(), [{ ...blob, blob: "" }]],
    ["a Blob without a type", () => new Blob([BYTES]), [blob]],
    ["a Blob with a type", () => new Blob([BYTES], { type: "image/png" }), [{ ...blob, mimeType: "image/png" }]],
    [
      "text with its own type and _meta",
      () => ({ text: "<p>", mimeType: "text/html", _meta: { a: 1 } }),
      [{ uri: "FILE:a", text: "<p>", mimeType: "text/html", _meta: { a: 1 } }],
    ],
    ["no text at all", () => ({ text: "" }), [{ uri: "FILE:a", text: "", mimeType: "x/declared" }]],
    [
      "several",
      () => [{ text: "a" }, { uri: "file:b", blob: streamOf(BYTES), mimeType: "image/png" }],
      [
        { uri: "FILE:a", text: "a", mimeType: "x/declared" },
        { uri: "file:b", blob: "AP8=", mimeType: "image/png" },
      ],
    ],
    ["none", () => [], []],
  ];
  it.each(cases)("may be %s", async (_what, given, contents) => {
    expect(await read(given)).toEqual({ kind: "complete", result: { contents } });
  });

  it.each([7, null, {}, { body: "x" }, [7], streamOf("text, not bytes")])(
    "is a fault of the author's where it is %j",
    async (given) => {
      const errors: unknown[] = [];
      const hooks = { onError: (error: unknown) => errors.push(error) };
      expect(await read(() => given as never, { hooks })).toMatchObject({ kind: "failure", error: "internal" });
      expect(errors).toHaveLength(1);
    },
  );

  it("are not read beyond the limit of an answer: a stream is cancelled there", async () => {
    let made = 0;
    let cancelled = false;
    const endless = new ReadableStream({
      pull: (controller) => {
        made += 1;
        controller.enqueue(new Uint8Array(1000));
      },
      cancel: () => {
        cancelled = true;
      },
    });
    const limits = resolveLimits({ resultBytes: 10_000 });
    expect(await read(() => endless, { limits })).toMatchObject({ error: "internal" });
    expect(cancelled).toBe(true);
    expect(made).toBeLessThan(20);
  });

  it("is not waited for beyond the end of the call", async () => {
    let cancelled = false;
    const silent = new ReadableStream({
      cancel: () => {
        cancelled = true;
      },
    });
    const sink = new (await import("../support/workerd/calls.ts")).RecordingSink();
    const reading = defineResource({ uri: "file:a", name: "a", read: () => silent }).read(
      ref,
      callOf({ method: "resources/read", sink }),
      requestScopeOf(freshTenant()),
    );
    await new Promise((resolve) => setTimeout(resolve, 0));
    sink.cancel();
    expect(await reading).toMatchObject({ error: "cancelled" });
    await expect.poll(() => cancelled).toBe(true);
  });
});

describe("how long clients may keep it", () => {
  const cache = { ttlMs: 60_000, scope: "public" } as const;
  const resource = defineResource({ uri: "file:a", name: "a", text: "x", cache });
  const template = defineTemplate({ uriTemplate: "file:{id}", name: "t", cache: { ttlMs: 5 }, read: ({ id }) => id });
  const host = (cacheScope: "public" | "private") => {
    const made = requestScopeOf(freshTenant());
    return { ...made, access: { ...made.access, cacheScope } };
  };

  it("is what the author says, and shared only where everybody sees the same", async () => {
    expect(await resource.read(ref, call, host("public"))).toMatchObject({
      cache: { ttlMs: 60_000, cacheScope: "public" },
    });
    expect(await resource.read(ref, call, host("private"))).toMatchObject({
      cache: { ttlMs: 60_000, cacheScope: "private" },
    });
    expect(await template.read(ref, call, host("public"))).toMatchObject({
      cache: { ttlMs: 5, cacheScope: "private" },
    });
  });

  it.each([-1, 1.5, Number.NaN, "1"])("is a whole number of milliseconds, not %s", (ttlMs) => {
    const bad = { ttlMs } as never;
    expect(() => defineResource({ uri: "file:a", name: "a", text: "", cache: bad })).toThrow("cache.ttlMs");
    expect(() => defineTemplate({ uriTemplate: "file:{a}", name: "a", cache: bad })).toThrow("cache.ttlMs");
  });
});

// The log said `Cannot use 'in' operator to search for 'blob' in 7`, and named no rule.
it.each([[7], [undefined], [null], [["a", "b"]]])(
  "a resource that reads %o says the rule in the log",
  async (given) => {
    const notifications: unknown[] = [];
    const hooks = { onError: (error: unknown) => notifications.push(error) };
    await read(() => given as never, { hooks });
    expect(notifications.map(String)).toEqual(["TypeError: read must return text, bytes, { text } or { blob }"]);
  },
);
