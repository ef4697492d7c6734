// `npm start -- --help` showed the pages of `wrangler dev`, or that the state is in use; `--port` without a number started at the usual one.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const START = join(import.meta.dirname, "../../scripts/start.ts");

function started(...args: string[]) {
  const cwd = mkdtempSync(join(tmpdir(), "tenantry-start-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const { status, stdout, stderr } = spawnSync(process.execPath, [START, ...args], { cwd, encoding: "utf8" });
  expect(readdirSync(cwd)).toEqual([]);
  return { status, stdout, stderr };
}

test.each(["--help", "-h"])("%s says what it takes, and starts nothing", (flag) => {
  const { status, stdout, stderr } = started(flag);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toContain("npm start -- [--port N]");
});

test.each(["--port", "--persist-to", "--config"])("%s without its value starts nothing", (flag) => {
  const { status, stderr } = started(flag);
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: `${flag}: the value is missing; npm start -- --help lists the options\n`,
  });
});

test("a number, which npm leaves of --port before --, starts nothing", () => {
  const { status, stderr } = started("8974");
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: "8974: unexpected; options come after --: npm start -- --port 8974\n",
  });
});
