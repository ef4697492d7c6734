// A stream of HTTP+SSE that nothing happens on: kept alive by comments, and never too old.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import worker from "../fixtures/worker.ts";

afterEach(() => {
  vi.useRealTimers();
});

it("is kept alive at least every 25 seconds, for a day", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  const request = new Request("https://x.example/mcp/lab", { headers: { accept: "text/event-stream" } });
  const response = await worker.fetch(request, env, createExecutionContext());
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("event: endpoint")) text += (await reader.read()).value ?? "";
  for (let comments = 0; comments < (24 * 3600) / 25; comments += 1) {
    vi.advanceTimersByTime(25_000);
    expect((await reader.read()).value).toBe(": keepalive\n\n");
  }
  await reader.cancel();
});
