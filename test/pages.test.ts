// The pages keep to what there is: a Worker that a page shows exports every class that it needs.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

/** What every Worker exports, whatever its features are. */
const BASE = [
  ...(/interface BaseObjects \{([\s\S]*?)^\}/m.exec(read("src/http/create-worker.ts"))?.[1] ?? "").matchAll(
    /readonly (\w+):/g,
  ),
].map(([, name = ""]) => name);
/** What the public features add. */
const ADDED = { admin: "PlatformObject", gateway: "UpstreamRefreshes" } as const;

describe("a Worker that a page shows", () => {
  const pages = globSync(["README.md", "docs/*.md", "src/demo/*.md"], { cwd: ROOT });
  const blocks = pages.flatMap((page) =>
    [...read(page).matchAll(/^```ts\n([\s\S]*?)^```$/gm)]
      .map(([, code = ""]) => code)
      .filter((code) => code.includes("createWorker({"))
      .map((code) => ({ page, code })),
  );

  it("is on five pages at least", () => {
    expect(BASE.length).toBeGreaterThan(5);
    expect(new Set(blocks.map(({ page }) => page)).size).toBeGreaterThanOrEqual(5);
  });

  it.each(blocks)("in $page exports what it needs, and nothing else", ({ code }) => {
    const added = Object.entries(ADDED).flatMap(([feature, name]) => (code.includes(`${feature}()`) ? [name] : []));
    const exported = /export const \{([^}]*)\}/.exec(code)?.[1]?.match(/\w+/g) ?? [];
    expect(exported.toSorted()).toEqual([...BASE, ...added].toSorted());
  });
});
