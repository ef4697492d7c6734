// `npm start` and what the README says of it, taken from the README: a person must be able to type what it shows.

import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { once } from "node:events";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Application, shellEnvironment, startApplication } from "../support/application.ts";

const ROOT = join(import.meta.dirname, "../..");
const README = readFileSync(join(ROOT, "README.md"), "utf8");
/** Where the README says that `npm start` serves. */
const DOCUMENTED_ORIGIN = "http://localhost:8362";

let folder: string;
let application: Application;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tenantry-start-"));
  application = await startApplication(join(folder, "state"));
});

afterAll(async () => {
  await application.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

test("the README tells to run npm ci && npm start, and the URL of the demo", () => {
  expect(shellBlocks()).toContain("npm ci && npm start");
  expect(README).toContain(`${DOCUMENTED_ORIGIN}/mcp/demo`);
});

test("without arguments wrangler dev gets the documented port and a folder for what is stored", () => {
  const args = argumentsOfWrangler([]);
  expect(args).toContain(`--port=${new URL(DOCUMENTED_ORIGIN).port}`);
  expect(args).toContain("--persist-to=.wrangler/state");
});

test("every start seals tenants' secrets under the same key", () => {
  const keyOf = () => /^SECRETS_KEY=(.+)$/m.exec(secretsOfWrangler([]))?.[1];
  expect(keyOf()).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(keyOf()).toBe(keyOf());
});

test("a start tells the Worker an admin token of its own", () => {
  const tokenOf = () => /^DEV_ADMIN_TOKEN=(.+)$/m.exec(secretsOfWrangler([]))?.[1];
  expect(tokenOf()).toMatch(/^[A-Za-z0-9_-]{32}$/);
  expect(tokenOf()).not.toBe(tokenOf());
});

describe("what a Worker is told beside that", () => {
  let project: string;
  const told = (given: string[]) => secretsOfWrangler(given, project).replaceAll(/^(?:DEV_ADMIN|SECRETS)_.*\n/gm, "");
  const filesOf = (given: string[]) =>
    argumentsOfWrangler(given, project)
      .filter((argument) => /^--env-?file=/i.test(argument))
      .map((argument) => basename(argument));

  beforeEach(() => {
    project = mkdtempSync(join(folder, "project-"));
  });

  test("is .dev.vars, where there is one", () => {
    writeFileSync(join(project, ".dev.vars"), "A = 'one two' # said\nexport B=$A\nSECRETS_KEY=mine\n");
    expect(told([])).toBe("A='one two'\nB='\\$A'\n");
    expect(filesOf([])).toEqual(["development-vars-8362"]);
  });

  test("is .dev.vars of the environment, and of the configuration's folder", () => {
    writeFileSync(join(project, ".dev.vars"), "A=one\n");
    writeFileSync(join(project, ".dev.vars.staging"), "A=two\n");
    expect(told(["--env", "staging"])).toBe("A=two\n");
    mkdirSync(join(project, "inner"));
    writeFileSync(join(project, "inner/.dev.vars"), "A=three\n");
    expect(told(["--config=inner/wrangler.toml"])).toBe("A=three\n");
  });

  test("is .env and its kin without one, and a file that somebody names in their place", () => {
    expect(filesOf(["-e", "staging"])).toEqual([
      ".env",
      ".env.local",
      ".env.staging",
      ".env.staging.local",
      "development-vars-8362",
    ]);
    writeFileSync(join(project, "mine"), "");
    expect(filesOf(["--env-file=mine"])).toEqual(["--env-file=mine", "development-vars-8362"]);
    writeFileSync(join(project, ".dev.vars"), "A=one\n");
    expect(filesOf(["--env-file=mine"])).toEqual(["--env-file=mine", "development-vars-8362"]);
    expect(told(["--env-file=mine"])).toBe("");
  });
});

test.each([
  { given: "--port 9000", replaced: "--port=8362" },
  { given: "--port=9000", replaced: "--port=8362" },
  { given: "--persist-to elsewhere", replaced: "--persist-to=.wrangler/state" },
  { given: "--log-level=info", replaced: "--log-level=warn" },
])("$given takes the place of $replaced", ({ given, replaced }) => {
  const args = argumentsOfWrangler(given.split(" "));
  expect(args).not.toContain(replaced);
  expect(args.filter((argument) => !/^--env-?file=/i.test(argument)).join(" ")).toMatch(new RegExp(`${given}$`));
});

test("it prints the URL that answers, once the Worker answers", async () => {
  const printed = /MCP endpoint\s+(\S+)/.exec(application.output())?.[1];
  expect(printed).toBe(`${application.origin}/mcp/demo`);
  const page = await fetch(`${application.origin}/mcp/demo`, { headers: { accept: "text/html" } });
  expect(page.status).toBe(200);
  expect(page.headers.get("content-type")).toContain("text/html");
});

test("the first curl of the README writes a note", () => {
  const command = shellBlocks().find((block) => block.startsWith("curl"));
  expect(command).toContain(DOCUMENTED_ORIGIN);
  const { stdout, stderr } = spawnSync("sh", ["-c", command?.replaceAll(DOCUMENTED_ORIGIN, application.origin) ?? ""], {
    encoding: "utf8",
  });
  expect(stdout, stderr).toContain('Saved the note \\"Hello\\" with id');
});

test("a Worker on this machine refuses the host name of a rebound page", async () => {
  const { status, stdout } = spawnSync(
    "curl",
    [
      "-s",
      "-o",
      join(folder, "refused"),
      "-w",
      "%{http_code}",
      "-H",
      "Host: evil.example",
      `${application.origin}/mcp`,
    ],
    { encoding: "utf8" },
  );
  expect({ status, code: stdout }).toEqual({ status: 0, code: "403" });
});

test("a port that somebody else answers on is refused, and nothing claims to serve there", async () => {
  const other = createServer((_request, response) => response.end("ok")).listen(0, "localhost");
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  const { status, stdout, stderr } = runStart(["--port", String(port)], process.env["PATH"] ?? "");
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toContain(`Port ${port} is in use`);
});

test.each([
  { given: ["--port", "abc"], says: "--port abc: must be a number up to 65535\n" },
  { given: ["--port", "70000"], says: "--port 70000: must be a number up to 65535\n" },
])("a port that is none, as in $given, is refused in one line", ({ given, says }) => {
  expect(runStart(given, process.env["PATH"] ?? "")).toMatchObject({ status: 1, stdout: "", stderr: says });
});

/** The arguments that a wrangler, first in the path, is started with. */
function argumentsOfWrangler(given: string[], cwd = ROOT): string[] {
  return startWith("printf '%s\\n' \"$@\"", given, cwd).trim().split("\n");
}

/** The last of the files that it is given. */
function secretsOfWrangler(given: string[], cwd = ROOT): string {
  return startWith('for last; do :; done; cat "${last#--envFile=}"', given, cwd);
}

/** What a wrangler that does this prints. */
function startWith(script: string, given: string[], cwd: string): string {
  const wrangler = join(folder, "wrangler");
  writeFileSync(wrangler, `#!/bin/sh\n${script}\n`);
  chmodSync(wrangler, 0o755);
  return runStart(given, `${folder}${delimiter}${process.env["PATH"] ?? ""}`, cwd).stdout;
}

function runStart(
  given: string[],
  path: string,
  cwd = ROOT,
): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [join(ROOT, "scripts/start.ts"), ...given], {
    cwd,
    encoding: "utf8",
    env: { ...shellEnvironment(), PATH: path },
    timeout: 60_000,
  });
}

function shellBlocks(): string[] {
  return [...README.matchAll(/```sh\n(.*?)```/gs)].map((match) => (match[1] ?? "").trim());
}
