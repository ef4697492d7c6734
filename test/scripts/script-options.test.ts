// A script that a person runs explains itself in a dozen lines, and refuses an option that it does not have.

import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { importsOf } from "../imports.ts";

const ROOT = join(import.meta.dirname, "../..");
/** The conformance suite and npm run the first two. Unknown options of `npm start` are those of `wrangler dev`. */
const OTHERS = ["scripts/conformance-client-driver.ts", "scripts/package-readme.ts", "scripts/start.ts"];
const HELP = /^(?:npm run [\w:]+|npx node \S+\.ts)/;

const imported = new Set(
  globSync("{scripts,bench,test}/**/*.ts", { cwd: ROOT, exclude: ["**/node_modules"] }).flatMap((file) =>
    importsOf(file, readFileSync(join(ROOT, file), "utf8")).map(({ target }) => target),
  ),
);
const scripts = globSync(["scripts/*.ts", "bench/*.ts", "bench/authors/*.ts"], { cwd: ROOT })
  .filter((file) => !imported.has(file) && !OTHERS.includes(file))
  .toSorted();

async function run(script: string, option: string) {
  const ended = promisify(execFile)(process.execPath, [script, option], { cwd: ROOT }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
  const { code, stdout, stderr } = await ended;
  return { code, stdout, stderr };
}

test("the scripts are found", () => {
  expect(scripts).toEqual(expect.arrayContaining(["scripts/costs.ts", "bench/run.ts"]));
});

test("--help prints the help", async () => {
  const { code, stdout, stderr } = await run("scripts/costs.ts", "--help");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(HELP);
});

test.concurrent.each(scripts)("%s refuses an unknown option and prints its help", async (script) => {
  const { code, stdout, stderr } = await run(script, "--nope");
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  const [message, help = ""] = stderr.split(/\n\n(.*)/s);
  expect(message).toBe("Unknown option '--nope'");
  expect(help).toMatch(HELP);
  expect(help.trimEnd().split("\n").length).toBeLessThanOrEqual(12);
});
