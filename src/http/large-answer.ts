// Owns sending a large answer as fast as its client reads it, counted until it is read. Refuses to wait for ever for a
// client that reads nothing.

import { HELD, SMALL_BYTES } from "../tenants/isolate/held-bytes.ts";
import { MAX_PAUSE_MS, stopTimer, type Timer } from "./event-stream.ts";

const encoder = new TextEncoder();

/** A short text as it is: what a connection itself takes in is not counted. */
export function bodyOfAnswer(json: string, holder?: string): string | ReadableStream<Uint8Array> {
  if (json.length <= SMALL_BYTES) return json;
  const bytes = encoder.encode(json);
  const share = HELD.open(holder);
  share.resize(bytes.byteLength, true);
  let at = 0;
  let timer: Timer;
  const over = () => {
    stopTimer(timer);
    share.release();
  };
  const watch = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    stopTimer(timer);
    timer = setTimeout(() => {
      over();
      controller.error(new Error("the reader does not read"));
    }, MAX_PAUSE_MS);
  };
  return new ReadableStream<Uint8Array>(
    {
      start: watch,
      pull: (controller) => {
        controller.enqueue(bytes.subarray(at, at + SMALL_BYTES));
        at += SMALL_BYTES;
        share.resize(Math.max(0, bytes.byteLength - at), true);
        watch(controller);
        if (at < bytes.byteLength) return;
        over();
        controller.close();
      },
      cancel: over,
    },
    { highWaterMark: 0 },
  );
}
