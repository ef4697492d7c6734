// That a folder has one server, whoever comes first, and that none keeps it which has ended.

import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { lockFolder } from "../../../src/cli/local/folder-lock.ts";

const MODULE = join(import.meta.dirname, "../../../src/cli/local/folder-lock.ts");
const OPTIONS = { port: "9600", option: "--state" };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tenantry-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const gone = () => spawnSync(process.execPath, ["-e", ""]).pid;
const leave = (text: unknown) => writeFileSync(join(folder, "server.pid"), JSON.stringify(text));
const inUseBy = (pid: number) =>
  `${folder} is in use by process ${pid}, a server at port 9600: stop that process, or choose another folder with --state`;

test("a folder is locked until it is released, and nothing is left then", () => {
  const lock = lockFolder(folder, OPTIONS);
  expect(() => lockFolder(folder, { port: "1", option: "--state" })).toThrow(inUseBy(process.pid));
  lock.release();
  expect(readdirSync(folder)).toEqual([]);
  lockFolder(folder, OPTIONS).release();
});

test("a file in the place of the folder, or above it, is refused in words, and left as it is", () => {
  const file = join(folder, "file");
  writeFileSync(file, "mine");
  expect(() => lockFolder(file, OPTIONS)).toThrow(`${file}: a file of this name already exists`);
  expect(() => lockFolder(join(file, "state"), OPTIONS)).toThrow(`${join(file, "state")}: is not a folder`);
  expect(readFileSync(file, "utf8")).toBe("mine");
});

test("a folder that is not there is made", () => {
  lockFolder(join(folder, "a/b"), OPTIONS);
  expect(readdirSync(join(folder, "a/b"))).toEqual(["server.pid"]);
});

test.each([
  { what: "a process that has ended", text: () => ({ port: "1", runs: [{ pid: gone(), began: "" }] }) },
  {
    what: "a process whose number is another's now",
    text: () => ({ port: "1", runs: [{ pid: process.pid, began: "0" }] }),
  },
  { what: "an earlier release, ended", text: () => gone() },
  { what: "nobody", text: () => ({}) },
])("a lock of $what does not count", ({ text }) => {
  leave(text());
  lockFolder(folder, OPTIONS);
  expect(JSON.parse(readFileSync(join(folder, "server.pid"), "utf8"))).toMatchObject({
    port: "9600",
    runs: [{ pid: process.pid }],
  });
});

test("an empty lock file does not count", () => {
  writeFileSync(join(folder, "server.pid"), "");
  lockFolder(folder, OPTIONS);
});

test("a lock of an earlier release counts while its process runs", () => {
  leave(process.pid);
  expect(() => lockFolder(folder, OPTIONS)).toThrow(`in use by process ${process.pid}: stop that process`);
});

test("a folder stays locked while a process runs that shares it, though the first was killed", async () => {
  const shares = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  onTestFinished(() => void shares.kill());
  const holds = await holder(`lock.share(${shares.pid});`);
  holds.kill("SIGKILL");
  await once(holds, "exit");
  expect(() => lockFolder(folder, OPTIONS)).toThrow(inUseBy(shares.pid ?? 0));
  shares.kill("SIGKILL");
  await once(shares, "exit");
  lockFolder(folder, OPTIONS);
});

test("one of many processes that find a stale lock at once takes it", async () => {
  leave({ port: "1", runs: [{ pid: gone(), began: "" }] });
  const holders = await Promise.all(Array.from({ length: 6 }, () => holder("")));
  expect(holders.map((child) => said.get(child)).filter((had) => had !== "refused")).toEqual(["taken"]);
});

const said = new WeakMap<ChildProcess, string>();

/** A process that tried to take the folder, and lives. */
async function holder(then: string): Promise<ChildProcess> {
  const script = `
    const { lockFolder } = await import(${JSON.stringify(MODULE)});
    try {
      const lock = lockFolder(${JSON.stringify(folder)}, ${JSON.stringify(OPTIONS)});
      ${then}
      process.stdout.write("taken");
    } catch (error) {
      process.stdout.write("refused");
    }
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script]);
  onTestFinished(() => void child.kill());
  const [chunk] = (await once(child.stdout, "data")) as [Buffer];
  said.set(child, chunk.toString());
  return child;
}
