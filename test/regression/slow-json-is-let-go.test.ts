// A call that took long and was answered to a client that accepts JSON alone was still listened for after its answer, and so held in
// memory for as long as the platform keeps its request. Over HTTP that cannot be seen: this asks what answers.

import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createRequestOutput, RequestStream } from "../../src/endpoint/request-stream.ts";
import { respondWhenReady } from "../../src/endpoint/respond.ts";
import type { EncodedResponse } from "../../src/protocol/dispatch.ts";

test.each([true, false])(
  "what ends after the answer does not reach its call (accepts streams: %s)",
  async (accepts) => {
    const client = new AbortController();
    const stream = new RequestStream(new Request("http://x", { signal: client.signal }), "2026", accepts);
    const sink = createRequestOutput(stream, "2026");
    const { cancelled } = sink;
    const answer: EncodedResponse = { status: 200, json: "{}" };
    const running = setImmediate(answer);
    expect(await (await respondWhenReady(running, { sink, stream, waitUntil: () => {} })).text()).toBe("{}");
    client.abort();
    expect(cancelled.aborted).toBe(false);
  },
);
