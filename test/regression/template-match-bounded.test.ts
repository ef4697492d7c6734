// Matching a URI against a template takes a bounded number of steps, also where every way to read it half succeeds.
import { expect, test } from "vitest";
import { parseUriTemplate } from "../../src/protocol/uri-template.ts";

/** What looking at a string costs; every reading of a URI goes through these. */
const STEPS = ["startsWith", "slice", "charAt", "split", "indexOf"] as const;

/** The methods are counted where they live, for as long as one match takes. */
const { prototype } = String;

/** Runs `work`, and throws when it looks at strings more than `limit` times. */
function withinSteps<T>(limit: number, work: () => T): T {
  const originals = STEPS.map((name) => [name, Object.getOwnPropertyDescriptor(prototype, name)] as const);
  let steps = 0;
  for (const [name, descriptor] of originals) {
    const original = descriptor?.value as (...args: unknown[]) => unknown;
    const counted = function counted(this: string, ...args: unknown[]): unknown {
      steps += 1;
      if (steps > limit) throw new Error(`more than ${limit} steps`);
      return original.apply(this, args);
    };
    Object.defineProperty(prototype, name, { ...descriptor, value: counted });
  }
  try {
    return work();
  } finally {
    for (const [name, descriptor] of originals) {
      if (descriptor) Object.defineProperty(prototype, name, descriptor);
    }
  }
}

const repeat = (count: number, part: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => part(at)).join("");

test.each([
  ["optional path parameters", repeat(16, (at) => `{;v${at},w${at}}`), repeat(16, (at) => `;v${at}=1`), true],
  ["optional query parameters", repeat(32, (at) => `{&v${at}}`), repeat(32, (at) => `&v${at}=1`), true],
  ["query parameters in another order", repeat(16, (at) => `{&v${at}}`), repeat(16, (at) => `&v${15 - at}=1`), false],
  ["path parameters nobody knows", `${repeat(31, (at) => `{;v${at}}`)}{+rest}`, repeat(400, () => ";q=1"), undefined],
  ["greedy variables around every slash", `${repeat(32, (at) => `{+v${at}}/`)}!`, "/".repeat(2000), false],
])("%s", (_what, template, uri, matches) => {
  const parsed = parseUriTemplate(`x:${template}`);
  if ("broken" in parsed) throw new Error(parsed.broken);
  const found = withinSteps(500_000, () => parsed.match(`x:${uri}`));
  if (matches !== undefined) expect(found !== undefined).toBe(matches);
});
