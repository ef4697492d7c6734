// A stream of HTTP+SSE that nothing happens on: kept alive by comments for hours, and then asked to go on in another
// invocation, where its client is who it was.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import worker from "../fixtures/worker.ts";

afterEach(() => {
  vi.useRealTimers();
});

const HOUR_MS = 3_600_000;
const EVERY_MS = 25_000;

async function open(headers: Readonly<Record<string, string>> = {}) {
  const request = new Request("https://x.example/mcp/lab", { headers: { accept: "text/event-stream", ...headers } });
  const response = await worker.fetch(request, env, createExecutionContext());
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let begin = "";
  while (!begin.includes("event: endpoint")) begin += (await reader.read()).value ?? "";
  const [, id = ""] = /^id: (.+)$/m.exec(begin) ?? [];
  const [, endpoint = ""] = /^data: (.+)$/m.exec(begin) ?? [];
  return { reader, id, endpoint };
}

it("a stream of HTTP+SSE is kept alive at least every 25 seconds, for five hours, and ends within seven", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  const { reader, id, endpoint } = await open();
  for (let age = 0; age < 5 * HOUR_MS; age += EVERY_MS) {
    vi.advanceTimersByTime(EVERY_MS);
    expect((await reader.read()).value).toBe(": keepalive\n\n");
  }
  vi.advanceTimersByTime(2 * HOUR_MS);
  let rest = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) rest += read.value;
  expect(rest.replaceAll(": keepalive\n\n", "")).toBe("");
  const again = await open({ "last-event-id": id });
  expect(again.endpoint).toBe(endpoint);
  await again.reader.cancel();
});
