// Which names a server may give to files of ours, and which two of them are one.

import { mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join, relative } from "node:path";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { isInsideWithoutLinks, makeParents, TargetFolder } from "../../../src/cli/admin/target-folder.ts";
import { SEED } from "../../support/seed.ts";

const ROOT = join(tmpdir(), "target");

const fileFor = (path: string, options: ConstructorParameters<typeof TargetFolder>[1] = {}) =>
  new TargetFolder(ROOT, options).fileFor("it", path.split("/"));

test.each(
  ["", ".", "..", "../x", "a/../../x", "a//b", "/etc/passwd", "a\\b", "..\\x", "C:x", "c:/x", "a\u0000", "a/C:"]
    .map((path) => ({ path, why: "leads to another folder" }))
    .concat(
      ["a\u001bb", "a\nb", "a\tb", "a\u202etxt", "a\u2066b", "\ud800"].map((path) => ({
        path,
        why: "contains characters",
      })),
      ["con", "Aux.txt", "nul.tar.gz", "COM1", "lpt9.x", "com\u00b9", "CONIN$", "prn .md", "a/nul"].map((path) => {
        return { path, why: "is a device" };
      }),
      ["a.", "a ", "a. .", "a /b"].map((path) => ({ path, why: "ends in a dot or space" })),
      [".bashrc", ".ssh/authorized_keys", "a/.git/config", "\u200c.bashrc"].map((path) => ({ path, why: "--hidden" })),
      [".tenantry-part-0"].map((path) => ({ path, why: "is reserved for temporary files of tenantry" })),
    ),
)("$path is refused: it $why", ({ path, why }) => {
  expect(() => fileFor(path)).toThrow(why);
});

test("names with a dot in front are taken where somebody asks for them, and nothing else with them", () => {
  expect(fileFor(".ssh/config", { hidden: true })).toBe(join(ROOT, ".ssh/config"));
  for (const path of ["..", "../x", ".tenantry-part-1", "a\u200c/..\u200c/b"]) {
    expect(() => fileFor(path, { hidden: true })).toThrow();
  }
});

test("names that only Windows cannot take are refused there", () => {
  for (const path of ["note:b", "what?.md", "a|b", "GIT~1/config"]) {
    expect(fileFor(path, { platform: "linux" })).toBe(join(ROOT, path));
    expect(() => fileFor(path, { platform: "win32" })).toThrow("is not a valid name on this system");
  }
});

test.each([
  ["a", "A"],
  ["caf\u00e9", "cafe\u0301"],
  ["dir/a", "DIR/A"],
  ["a", "a/b"],
  ["a/b", "A"],
  ["a", "a\u200d"],
  ["stra\u00dfe", "STRASSE"],
])("%s and %s are one file on some disk, and the error names both", (one, other) => {
  const target = new TargetFolder(ROOT);
  target.fileFor("docs://first", one.split("/"));
  expect(() => target.fileFor("docs://second", other.split("/"))).toThrow(/docs:\/\/first and docs:\/\/second/);
});

test("files may share folders, and the same one may be asked for twice", () => {
  const target = new TargetFolder(ROOT);
  for (const [text, path] of [
    ["1", "a/b"],
    ["2", "A/c"],
    ["1", "a/b"],
    ["3", "a.part"],
    ["4", "x2"],
    ["5", "x\u00b2"],
  ]) {
    expect(target.fileFor(text ?? "", path?.split("/") ?? [])).toBe(join(ROOT, path ?? ""));
  }
});

test("a path that a server names is within the folder or refused", () => {
  const part = fc.oneof(
    fc.constantFrom("..", ".", "", "a", "~", "C:", "\\", "..\\..", "%2e%2e"),
    fc.string({ unit: "binary" }),
  );
  fc.assert(
    fc.property(fc.array(part), fc.boolean(), (parts, hidden) => {
      let file: string;
      try {
        file = new TargetFolder(ROOT, { hidden }).fileFor("it", parts);
      } catch {
        return;
      }
      const inside = relative(ROOT, file);
      expect(inside === "" || inside.split("/")[0] === ".." || isAbsolute(inside)).toBe(false);
    }),
    SEED,
  );
});

test("a link within the folder is not followed, to write or to delete", async () => {
  const root = await mkdtemp(join(tmpdir(), "tenantry-links-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const elsewhere = join(root, "elsewhere");
  const target = join(root, "target");
  await makeParents(elsewhere, join(elsewhere, "x"));
  await makeParents(target, join(target, "deep/er/x"));
  await symlink(elsewhere, join(target, "link"));
  await expect(makeParents(target, join(target, "link/x"))).rejects.toThrow("is a link");
  await expect(makeParents(target, join(target, "link/new/x"))).rejects.toThrow("is a link");
  expect(await isInsideWithoutLinks(target, join(target, "link/x"))).toBe(false);
  expect(await isInsideWithoutLinks(target, join(target, "deep/er/x"))).toBe(true);
  expect(await readdir(elsewhere)).toEqual([]);
});
