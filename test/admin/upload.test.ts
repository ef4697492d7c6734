import { afterEach, expect, it, vi } from "vitest";
import { readUpload } from "../../src/admin/upload.ts";
import { MAX_RESERVED_BYTES, STALE_AFTER_MS } from "../../src/tenants/cache/memory-budget.ts";

const MIB = 1024 * 1024;
const LIMIT = 25 * MIB;

afterEach(() => {
  vi.useRealTimers();
});

/** Sends so much and then ends; or falls silent, and says so. */
function requestOf(size: number, fallsSilent?: () => void): Request {
  let left = size;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const chunk = new Uint8Array(Math.min(left, MIB));
      left -= chunk.byteLength;
      if (chunk.byteLength > 0) controller.enqueue(chunk);
      else if (!fallsSilent) controller.close();
      else {
        fallsSilent();
        return new Promise<void>(() => {});
      }
      return undefined;
    },
  });
  return new Request("https://mcp.example.com/", { method: "PUT", body });
}

const whole = () => readUpload(requestOf(LIMIT), LIMIT);

it("an upload beyond the limit gets a Retry-After, and succeeds when another is done", async () => {
  const uploads = await Promise.all([whole(), whole()]);
  await expect(whole()).rejects.toMatchObject({ key: "busy", about: { headers: { "retry-after": "2" } } });
  uploads[0].release();
  const third = await whole();
  expect(third.bytes.byteLength).toBe(LIMIT);
  third.release();
  uploads[1].release();
});

it("a refused upload leaves room for the next", async () => {
  for (let round = 0; round * LIMIT < 2 * MAX_RESERVED_BYTES; round += 1) {
    await expect(readUpload(requestOf(LIMIT + 1), LIMIT)).rejects.toMatchObject({ key: "too-large" });
  }
  (await whole()).release();
});

it("uploads of vanished clients free their memory after a while", async () => {
  const started = Date.now();
  for (let at = 0; at < 3; at += 1) {
    await new Promise<void>((resolve) => {
      // It ends as too slow half a minute later, when other tests run.
      readUpload(requestOf(20 * MIB, resolve), LIMIT).catch(() => {});
    });
  }
  await expect(whole()).rejects.toMatchObject({ key: "busy" });
  vi.useFakeTimers({ toFake: ["Date"], now: started + STALE_AFTER_MS + 60_000 });
  const after = await whole();
  expect(after.bytes.byteLength).toBe(LIMIT);
  after.release();
});
