// `tenantry calls`: recorded calls, and finding one that was changed, taken out or written anew.

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

type Line = { kind: string; sequence: number; hash: string; entry?: Record<string, unknown> };

/** Five calls, the first two of which are gone by their age. */
function chain(): Line[] {
  let hash = "a".repeat(64);
  const lines: Line[] = [{ kind: "anchor", sequence: 2, hash }];
  for (const sequence of [3, 4, 5]) {
    const entry = {
      sequence,
      at: "2026-11-21T10:00:00.000Z",
      principal: "key-1",
      method: "tools/call",
      name: `tool-${sequence}`,
      outcome: "complete",
      requestId: `request-${sequence}`,
      arguments: { sha256: "ab".repeat(32), bytes: 2, redacted: { note: "rent" } },
    };
    hash = createHash("sha256")
      .update(`${hash}\n${JSON.stringify(entry)}`)
      .digest("hex");
    lines.push({ kind: "call", sequence, hash, entry });
  }
  return [...lines, { kind: "head", sequence: 5, hash }];
}

async function serving(lines: readonly Line[]) {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  const body = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  admin.intercept = ({ url }) => (url.includes("/tenants/acme/calls") ? { body } : undefined);
  return cli;
}

test("recorded calls are shown with who, what and which request, and exported as they came", async () => {
  const cli = await serving(chain());
  const shown = await cli.run(["calls", "show", "acme"]);
  expect(shown.stdout).toMatch(/key-1 +tool-3 +complete +request-3 +\{"?note"?: ?"rent"\}/);
  const exported = await cli.run(["calls", "export", "acme"]);
  expect(
    exported.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Line),
  ).toEqual(chain());
});

test("the newest calls are shown, the newest last, and it is said that there are more", async () => {
  const cli = await serving(chain());
  const { stdout, stderr } = await cli.run(["calls", "show", "acme", "--limit", "2"]);
  expect(stdout).not.toContain("tool-3");
  expect(stdout.indexOf("tool-4")).toBeLessThan(stdout.indexOf("tool-5"));
  expect(stderr).toBe("tenantry: only the newest 2 shown; --limit shows more\n");
  expect((await cli.run(["calls", "show", "acme", "--limit", "3"])).stderr).toBe("");
});

test("a chain that is whole is said to be, with its newest hash, which is found again", async () => {
  const head = chain().at(-1)?.hash ?? "";
  const cli = await serving(chain());
  const { exit, stdout } = await cli.run(["calls", "verify", "acme"]);
  expect([exit, stdout]).toEqual([0, expect.stringContaining(head)]);
  expect((await cli.run(["calls", "verify", "acme", "--head", head])).exit).toBe(0);
  expect((await cli.run(["calls", "verify", "acme", "--head", "b".repeat(64)])).exit).toBe(1);
});

test("a tenant of which nothing was recorded is as it was written", async () => {
  const none = [0, 1].map((at) => ({ kind: at === 0 ? "anchor" : "head", sequence: 0, hash: "0".repeat(64) }));
  expect((await (await serving(none)).run(["calls", "verify", "acme"])).exit).toBe(0);
});

const changed = (edit: (lines: Line[]) => void): Line[] => {
  const lines = chain();
  edit(lines);
  return lines;
};

test.each([
  ["an entry was changed", changed((lines) => Object.assign(lines[2]?.entry ?? {}, { principal: "key-2" }))],
  ["one was taken out", changed((lines) => lines.splice(2, 1))],
  ["the newest was taken out", changed((lines) => lines.splice(3, 1))],
  ["the oldest was taken out", changed((lines) => lines.splice(1, 1))],
  ["two were exchanged", changed((lines) => lines.splice(1, 2, ...lines.slice(1, 3).toReversed()))],
  ["the end is missing", changed((lines) => lines.splice(4, 1))],
  ["the beginning is missing", changed((lines) => lines.splice(0, 1))],
  ["a hash was changed", changed((lines) => Object.assign(lines[3] ?? {}, { hash: "c".repeat(64) }))],
])("%s: it is found", async (_what, lines) => {
  const { exit, stderr } = await (await serving(lines)).run(["calls", "verify", "acme"]);
  expect([exit, stderr]).toEqual([1, expect.stringContaining("do not match their hashes")]);
});

test("a tenant that records nothing is shown with how to make it record", async () => {
  const { admin, cli } = await commandLine();
  const hash = "0".repeat(64);
  const lines = [
    { kind: "anchor", sequence: 0, hash },
    { kind: "head", sequence: 0, hash },
  ];
  admin.intercept = () => ({ body: Buffer.from(lines.map((one) => `${JSON.stringify(one)}\n`).join("")) });
  for (const command of ["show", "verify"]) {
    expect((await cli.run(["calls", command, "acme"])).stderr).toContain(
      "the field audit of the tenant's document turns recording on",
    );
  }
});
