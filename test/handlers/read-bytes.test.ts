import { describe, expect, it } from "vitest";
import { readBytes, type Bytes } from "../../src/handlers/read-bytes.ts";

const never = () => new AbortController().signal;
const THREE = Uint8Array.of(1, 2, 3);
const forms: readonly [string, () => Bytes][] = [
  ["a view", () => THREE],
  ["a buffer", () => THREE.slice().buffer],
  ["a blob", () => new Blob([THREE])],
  ["a stream", () => new Blob([THREE]).stream()],
];

describe.each(forms)("%s", (_form, bytes) => {
  it("is read whole where it fits", async () => {
    expect([...(await readBytes(bytes(), 3, never))]).toEqual([1, 2, 3]);
  });

  it("is refused where it has more", async () => {
    await expect(readBytes(bytes(), 2, never)).rejects.toThrow(new RangeError("the body must have at most 2 bytes"));
  });
});

describe("a stream whose call ends", () => {
  const endless = (cancelled: () => void) =>
    new ReadableStream<Uint8Array>(
      { pull: (controller) => controller.enqueue(THREE), cancel: cancelled },
      { highWaterMark: 0 },
    );

  it("in the middle is an error, not what came until then", async () => {
    const over = new AbortController();
    let pulled = 0;
    const cancelled = Promise.withResolvers<void>();
    const stream = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          pulled += 1;
          if (pulled === 2) over.abort(new Error("the client cancelled the call"));
          else controller.enqueue(THREE);
        },
        cancel: () => cancelled.resolve(),
      },
      { highWaterMark: 0 },
    );
    await expect(readBytes(stream, 100, () => over.signal)).rejects.toThrow("the client cancelled the call");
    await cancelled.promise;
  });

  it("before it was read is an error, and nothing more is read", async () => {
    const cancelled = Promise.withResolvers<void>();
    const stream = endless(() => cancelled.resolve());
    await expect(readBytes(stream, 100, () => AbortSignal.abort(new Error("too late")))).rejects.toThrow("too late");
    await cancelled.promise;
  });
});
