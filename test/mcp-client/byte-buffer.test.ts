// Bytes that arrive in pieces and are wanted in one.

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ByteBuffer } from "../../src/mcp-client/byte-buffer.ts";

test("pieces of any size are joined in their order, again and again", () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 20 });
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 4 }), (rounds) => {
      const buffer = new ByteBuffer();
      for (const round of rounds) {
        for (const piece of round) buffer.add(piece);
        const whole = Buffer.concat(round);
        expect(buffer.length).toBe(whole.length);
        expect(Buffer.from(buffer.take())).toEqual(whole);
        expect(buffer.length).toBe(0);
      }
    }),
    { seed: 20260728, numRuns: 200 },
  );
});

test("a million pieces of one byte take hardly more memory than a million bytes", () => {
  const buffer = new ByteBuffer();
  for (let count = 0; count < 1_000_000; count += 1) buffer.add(Uint8Array.of(count % 256));
  const whole = buffer.take();
  expect(whole).toHaveLength(1_000_000);
  expect(whole[999_999]).toBe(999_999 % 256);
  expect(whole.buffer.byteLength).toBeLessThan(3_000_000);
});
