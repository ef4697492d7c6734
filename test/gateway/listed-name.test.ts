// Properties over generated catalogs.

import { array, assert, constantFrom, oneof, property, string, tuple, uniqueArray } from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { listedName, policyName, splitName } from "../../src/gateway/listed-name.ts";

const seed = inject("seed");
const CHARACTERS = Array.from("abcXYZ019_-.");
const id = array(constantFrom(...CHARACTERS.filter((char) => char !== ".")), { minLength: 1, maxLength: 32 })
  .map((chars) => chars.join(""))
  .filter((text) => /^[A-Za-z0-9]/.test(text) && !text.includes("__") && !text.endsWith("_"));
const name = oneof(
  array(constantFrom(...CHARACTERS), { minLength: 1, maxLength: 128 }).map((chars) => chars.join("")),
  string({ minLength: 1, maxLength: 128, unit: "binary" }),
);

describe("the listed name of a tool of an upstream", () => {
  it("is its own under the id of its upstream", () => {
    expect(listedName("github", "create_issue")).toBe("github__create_issue");
    expect(listedName("serverA", "tool_1")).toBe("serverA__tool_1");
  });

  it("has at most 64 characters that every client takes", () => {
    assert(
      property(id, name, (upstream, tool) => {
        expect(listedName(upstream, tool)).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      }),
      { seed },
    );
  });

  it("is the policy name where clients take that, and else ends with a short hash, without padding", () => {
    assert(
      property(id, name, (upstream, tool) => {
        const whole = policyName(upstream, tool);
        const isLegal = /^[a-zA-Z0-9_-]{1,64}$/.test(whole);
        const listed = listedName(upstream, tool);
        if (isLegal) expect(listed).toBe(whole);
        else expect(listed).toMatch(/-[0-9a-v]{8}$/);
        if (!isLegal) expect(listed).toHaveLength(Math.min(whole.length, 55) + 9);
      }),
      { seed },
    );
  });

  it.each([
    ["a.b", /^names__a_b-[0-9a-v]{8}$/],
    ["a/b", /^names__a_b-[0-9a-v]{8}$/],
    ["größe", /^names__gr__e-[0-9a-v]{8}$/],
    ["x".repeat(200), /^names__x{48}-[0-9a-v]{8}$/],
  ])("of %s keeps what it can of it", (own, listed) => {
    expect(listedName("names", own)).toMatch(listed);
  });

  it("leads back to its upstream, whatever the tool is called", () => {
    assert(
      property(id, name, (upstream, tool) => {
        expect(splitName(listedName(upstream, tool))?.id).toBe(upstream);
      }),
      { seed },
    );
  });

  it("is no other's, over whole catalogs", () => {
    const catalog = uniqueArray(tuple(id, name), { maxLength: 60, selector: ([a, b]) => JSON.stringify([a, b]) });
    assert(
      property(catalog, (tools) => {
        const listed = tools.map(([upstream, tool]) => listedName(upstream, tool));
        expect(new Set(listed).size).toBe(listed.length);
      }),
      { seed },
    );
  });

  it("distinguishes long names with the same beginning", () => {
    const listed = Array.from({ length: 5000 }, (_, at) => listedName("u", `${"long_".repeat(20)}${at}`));
    expect(new Set(listed).size).toBe(5000);
  });
});
