// Removing the lock of a process that has ended, while other processes do the same.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { removeStaleLock } from "../../../src/cli/local/stale-lock.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tenantry-lock-"));
  file = join(folder, "lock");
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

test("removes a stale lock", () => {
  writeFileSync(file, "stale");
  removeStaleLock(file, () => true);
  expect(readdirSync(folder)).toEqual([]);
});

test("leaves a lock that another process created after the stale one", () => {
  writeFileSync(file, "second");
  removeStaleLock(file, (moved) => readFileSync(moved, "utf8") === "stale");
  expect(readFileSync(file, "utf8")).toBe("second");
  expect(readdirSync(folder)).toEqual(["lock"]);
});

test("leaves the lock of a third process", () => {
  writeFileSync(file, "second");
  removeStaleLock(file, () => {
    writeFileSync(file, "third");
    return false;
  });
  expect(readFileSync(file, "utf8")).toBe("third");
  expect(readdirSync(folder)).toEqual(["lock"]);
});

test("does nothing if the lock is gone", () => {
  removeStaleLock(file, () => true);
  expect(readdirSync(folder)).toEqual([]);
});
