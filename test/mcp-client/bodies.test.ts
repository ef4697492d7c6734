// What becomes of a body on a platform that does not hear an abort: read to its end, or cancelled, whatever happens.

import { describe, expect, test } from "vitest";
import type { RemoteEndpoint } from "../../src/mcp-client/remote-endpoint.ts";
import type { AnswerLimits } from "../../src/mcp-client/answer-limits.ts";
import { end2025 } from "../../src/mcp-client/streamable-2025.ts";
import { bench, done, expectNothingLeft, faultOf, messagesOf, progress, SESSION, WAYS } from "./client-setup.ts";
import type { Json } from "../support/scripted-server.ts";

expectNothingLeft();

/** A `fetch` whose answer says so much and never ends, unless somebody cancels it. */
async function endless(init: ResponseInit, text: string, limits: Partial<AnswerLimits> = {}) {
  const made = await bench(undefined, limits);
  let cancelled = () => {};
  const isCancelled = new Promise<void>((resolve) => (cancelled = resolve));
  const fetch: RemoteEndpoint["fetch"] = async () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => (text === "" ? undefined : controller.enqueue(new TextEncoder().encode(text))),
      cancel: () => cancelled(),
    });
    return new Response(body, init);
  };
  return { ...made, endpoint: { ...made.endpoint, fetch }, isCancelled };
}

const STREAM = { headers: { "content-type": "text/event-stream" } };
const JSON_TYPE = { headers: { "content-type": "application/json" } };
const event = (message: Json) => `data: ${JSON.stringify(message)}\n\n`;

describe.each(WAYS)("era $era", ({ send, tell }) => {
  test.each([
    { what: "of a page", init: { headers: { "content-type": "text/html" } }, text: "<h1>" },
    { what: "of a redirect", init: { status: 307, headers: { location: "/" } }, text: "moved" },
    {
      what: "that says it is too long",
      init: { headers: { ...JSON_TYPE.headers, "content-length": "99999999" } },
      text: "{",
    },
    { what: "that is too long", init: JSON_TYPE, text: "x".repeat(2000) },
    { what: "with an event that is too long", init: STREAM, text: "x".repeat(1500) },
  ])("a body $what is cancelled", async ({ init, text }) => {
    const limits = { messageBytes: 1000, responseBytes: 1900 };
    const { endpoint, options, isCancelled } = await endless(init, text, limits);
    await faultOf(messagesOf(send(endpoint, options)));
    await isCancelled;
  });

  test.each([
    { what: "of an error", status: 500 },
    { what: "of a session that is gone", status: 404 },
  ])("a body $what that does not end soon is cancelled", async ({ status }) => {
    const { endpoint, options, clock, isCancelled } = await endless({ status }, "oops");
    const work = faultOf(messagesOf(send(endpoint, options)));
    await clock.untilWaitsFor(1500);
    clock.advance(1500);
    expect(await work).toMatchObject({ http: { status } });
    await isCancelled;
  });

  test.each([
    { what: "promises nothing", init: { status: 202 }, text: "Accepted" },
    { what: "is a stream", init: STREAM, text: event(progress("x")) },
    { what: "is a text", init: { headers: { "content-type": "text/plain" } }, text: "OK" },
  ])("a body that $what is cancelled where nobody waits for a message", async ({ init, text }) => {
    const { endpoint, options, isCancelled } = await endless(init, text);
    await tell(endpoint, options);
    await isCancelled;
  });

  test("a stream is cancelled after its answer", async () => {
    const { endpoint, options, isCancelled } = await endless(STREAM, event(progress("x")) + event(done(1)));
    expect(await messagesOf(send(endpoint, options))).toHaveLength(2);
    await isCancelled;
  });

  test("a stream is cancelled when its reader stops, or never begins", async () => {
    for (const reads of [1, 0]) {
      const { endpoint, options, isCancelled } = await endless(STREAM, event(progress("x")));
      const { messages } = await send(endpoint, options);
      if (reads > 0) await messages.next();
      await messages.return?.();
      await isCancelled;
    }
  });

  test("a body that falls silent is cancelled, in JSON and on a stream", async () => {
    for (const init of [JSON_TYPE, STREAM]) {
      const { endpoint, options, clock, isCancelled } = await endless(init, "", { silenceMs: 1000 });
      const work = faultOf(messagesOf(send(endpoint, options)));
      await clock.untilWaitsFor(1000);
      clock.advance(1000);
      expect(await work).toMatchObject({ kind: "timeout", stage: "silence" });
      await isCancelled;
    }
  });

  test("a body is cancelled when the caller goes", async () => {
    const { endpoint, options, clock, abort, isCancelled } = await endless(STREAM, "", { silenceMs: 1000 });
    const work = faultOf(messagesOf(send(endpoint, options)));
    await clock.untilWaitsFor(1000);
    abort.abort();
    expect(await work).toEqual({ kind: "cancelled", sent: "yes" });
    await isCancelled;
  });

  test("fetch is called as a function, as platforms demand that bind it to their global", async () => {
    const { endpoint, options } = await bench();
    const calls: unknown[] = [];
    async function fetch(this: unknown, _url: string, init: { readonly redirect: string }): Promise<Response> {
      calls.push(this, init.redirect);
      return Response.json(done(1));
    }
    await messagesOf(send({ ...endpoint, fetch }, options));
    expect(calls).toEqual([undefined, "manual"]);
  });
});

test("the body of a goodbye is cancelled", async () => {
  const { endpoint, options, isCancelled } = await endless({ status: 200 }, "bye");
  expect(await end2025(endpoint, SESSION, options)).toBe(true);
  await isCancelled;
});
