// Sealed texts pass through strangers' hands: these tests hold what a stranger may learn and change, which is nothing.

import { describe, expect, it } from "vitest";
import { canonicalJson, digest, seal, toBase64, toBase64Url, unseal, type KeyRing } from "../../src/auth/seal.ts";

function key(id: string) {
  return { id, secret: crypto.getRandomValues(new Uint8Array(32)) };
}

const ring: KeyRing = [key("newer"), key("older")];

describe("seal", () => {
  it.each(["", "plain", "ünï¢ødé 🙂", "x".repeat(100_000), '{"a":[1,null]}'])(
    "opens to what was sealed",
    async (text) => {
      expect(await unseal(ring, "state", await seal(ring, "state", text))).toBe(text);
    },
  );

  it("never gives the same text twice", async () => {
    expect(await seal(ring, "state", "same")).not.toBe(await seal(ring, "state", "same"));
  });

  it("shows the key's id and nothing of the payload", async () => {
    const sealed = await seal(ring, "state", "the payload");
    expect(sealed).toMatch(/^newer\.[A-Za-z0-9_-]+$/);
    expect(atob(sealed.slice(6).replaceAll("-", "+").replaceAll("_", "/"))).not.toContain("payload");
  });

  it("refuses to seal without a key", async () => {
    await expect(seal([], "state", "text")).rejects.toThrow("at least one key");
  });
});

describe("unseal", () => {
  it("refuses a text that was sealed for another purpose", async () => {
    const sealed = await seal(ring, "session acme", "text");
    expect(await unseal(ring, "session globex", sealed)).toBeUndefined();
    expect(await unseal(ring, "session acme", sealed)).toBe("text");
  });

  it("refuses another ring's text even when the key ids are the same", async () => {
    const stranger: KeyRing = [key("newer"), key("older")];
    expect(await unseal(ring, "state", await seal(stranger, "state", "text"))).toBeUndefined();
  });

  it("opens what the older key sealed, until that key is gone", async () => {
    const [newer, older] = ring;
    if (!newer || !older) throw new Error("the ring has two keys");
    const sealed = await seal([older], "state", "text");
    expect(await unseal(ring, "state", sealed)).toBe("text");
    expect(await unseal([newer], "state", sealed)).toBeUndefined();
    expect(await unseal([], "state", sealed)).toBeUndefined();
  });

  it("refuses a text with any one character changed", async () => {
    const sealed = await seal(ring, "state", "ab");
    const changed = Array.from(sealed, (char, at) => {
      const other = char === "A" ? "B" : "A";
      return sealed.slice(0, at) + other + sealed.slice(at + 1);
    });
    const opened = await Promise.all(changed.map((text) => unseal(ring, "state", text)));
    expect(opened.filter((text) => text !== undefined)).toEqual([]);
  });

  it("refuses the same bytes in another spelling", async () => {
    // 12 + 1 + 16 bytes end in a character of which only some bits count.
    const sealed = await seal(ring, "state", "a");
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const spellings = Array.from(alphabet, (char) => sealed.slice(0, -1) + char).filter((text) => text !== sealed);
    const opened = await Promise.all(
      [...spellings, `${sealed}=`, `${sealed}A`].map((text) => unseal(ring, "state", text)),
    );
    expect(opened.every((text) => text === undefined)).toBe(true);
  });

  it.each([
    "",
    ".",
    "newer",
    "newer.",
    ".AAAA",
    "newer.AAAA",
    "newer.a b",
    "newer.%00",
    "newer.AAAA.AAAA",
    "__proto__.AAAA",
  ])("refuses %j without throwing", async (text) => {
    expect(await unseal(ring, "state", text)).toBeUndefined();
  });
});

describe("toBase64", () => {
  it.each([0, 1, 2, 3, 8191, 8192, 8193, 100_000])("writes %i bytes as every other encoder does", async (length) => {
    const bytes = Uint8Array.from({ length }, (_, at) => (at * 7) % 256);
    const text = toBase64(bytes);
    expect(text).toHaveLength(4 * Math.ceil(length / 3));
    const back = await fetch(`data:application/octet-stream;base64,${text}`);
    expect(new Uint8Array(await back.arrayBuffer())).toEqual(bytes);
  });

  it("has a form without padding for headers and URLs", () => {
    expect(toBase64(Uint8Array.of(251, 255))).toBe("+/8=");
    expect(toBase64Url(Uint8Array.of(251, 255))).toBe("-_8");
  });
});

describe("digest", () => {
  it("is 22 characters that follow the text", async () => {
    expect(await digest("a")).toMatch(/^[A-Za-z0-9_-]{22}$/);
    expect(await digest("a")).toBe(await digest("a"));
    expect(await digest("a")).not.toBe(await digest("b"));
  });
});

describe("canonicalJson", () => {
  it("writes equal values equally, whatever the order of their keys", () => {
    expect(canonicalJson({ b: 1, a: { d: [{ z: 1, y: 2 }], c: null } })).toBe(
      '{"a":{"c":null,"d":[{"y":2,"z":1}]},"b":1}',
    );
    expect(canonicalJson({ 10: "x", 9: "y", a: 1 })).toBe(canonicalJson({ a: 1, 9: "y", 10: "x" }));
  });

  it("keeps the order of lists", () => {
    expect(canonicalJson([2, 1])).not.toBe(canonicalJson([1, 2]));
  });

  it("keeps a member called __proto__, so that two values that differ in it differ", () => {
    const value: unknown = JSON.parse('{"__proto__":{"admin":true},"a":1}');
    expect(canonicalJson(value)).toBe('{"__proto__":{"admin":true},"a":1}');
  });
});
