// `tenantry connect`, `ping` and `doctor` before a real Worker: what is printed is run as a person would, in a shell and in Node.

import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CommandLine, type Ended } from "../support/command-line.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";

const ROOT = join(import.meta.dirname, "../..");
const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "connect");
const TOOLS = { "*": { enabled: false }, lab_echo: { enabled: true } };
const run = promisify(execFile);

let open: string;
let keyed: string;
let key: string;
/** Of our form, and nobody's. */
let wrong: string;

beforeAll(async () => {
  open = await admin.tenant({ tools: TOOLS });
  keyed = await admin.tenant({ mode: "key", tools: TOOLS, profiles: { readers: {} } });
  key = (await admin.key(keyed)).token;
  wrong = (await admin.key(await admin.tenant({ mode: "key" }))).token;
});

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "connect-"));
  onTestFinished(() => rm(made, { recursive: true }));
  return made;
}

async function tenantry(...args: string[]): Promise<Ended> {
  return new CommandLine(await folder(), { HOME: await folder() }).run([...args, "--url", origin]);
}

async function printed(...args: string[]): Promise<string> {
  const { exit, stdout, stderr } = await tenantry("connect", ...args);
  expect(exit, stderr).toBe(0);
  return stdout;
}

describe.each([
  ["an open tenant", () => [open]],
  ["a tenant with a key", () => [keyed, "--key", key]],
  ["a profile with a key", () => [`${keyed}/readers`, "--key", key]],
])("what is printed for %s", (_what, endpoint) => {
  test("at a shell lists its tools", async () => {
    const { stdout } = await run("sh", ["-c", await printed(...endpoint(), "--client", "curl")]);
    expect(JSON.parse(stdout)).toMatchObject({ result: { tools: [{ name: "lab_echo" }] } });
  });

  test.each(["sdk-v1", "sdk-v2"])("as a program with %s lists its tools, and ends", async (client) => {
    const at = await folder();
    await symlink(join(ROOT, "node_modules"), join(at, "node_modules"), "dir");
    await writeFile(join(at, "client.mjs"), await printed(...endpoint(), "--client", client));
    const env = { PATH: process.env["PATH"], TENANTRY_KEY: key };
    const { stdout } = await run(process.execPath, ["client.mjs"], { cwd: at, env });
    expect(stdout).toBe("[ 'lab_echo' ]\n");
  });
});

test("without a key the endpoint is asked how one gets in, and the place of the key is shown", async () => {
  expect(await printed(open, "--client", "cursor")).not.toContain("Authorization");
  const { stdout, stderr } = await tenantry("connect", keyed, "--client", "cursor");
  expect(JSON.parse(stdout)).toMatchObject({
    mcpServers: { [keyed]: { url: `${origin}/mcp/${keyed}`, headers: { Authorization: "Bearer YOUR_KEY" } } },
  });
  expect(stderr).toContain(`tenantry key create ${keyed} --name NAME`);
});

test("a key that is refused is said to be, before a client has it", async () => {
  const refused = await tenantry("connect", keyed, "--client", "cursor", "--key", wrong);
  expect([refused.exit, refused.stdout]).toEqual([4, ""]);
  expect(refused.stderr).toContain("refuses this key");
  expect(await printed(keyed, "--client", "cursor", "--key", wrong, "--auth", "key")).toContain(wrong);
});

test("the same is said as JSON", async () => {
  const { stdout } = await tenantry("connect", `${keyed}/readers`, "--client", "codex", "--key", key, "--json");
  expect(JSON.parse(stdout)).toMatchObject({
    client: "codex",
    name: `${keyed}_readers`,
    url: `${origin}/mcp/${keyed}/readers`,
    access: { kind: "key", key },
    language: "toml",
    file: "~/.codex/config.toml",
  });
});

test("doctor finds nothing at a tenant that is well, with its key", async () => {
  const { exit, stdout, stderr } = await tenantry("doctor", keyed, "--key", key);
  expect(stdout).not.toContain("FAIL");
  expect([exit, stderr]).toEqual([0, "Nothing failed.\n"]);
  const checks = stdout.split("\n").map((line) => /^ok +([^:]+):/.exec(line)?.[1]);
  for (const check of ["access", "key", "initialize", "stream", "server/discover", "tools/list"]) {
    expect(checks).toContain(check);
  }
});

test("doctor stops at the key that is refused, and says what mends it", async () => {
  const { exit, stdout } = await tenantry("doctor", keyed, "--key", wrong, "--json");
  expect(exit).toBe(4);
  const findings = JSON.parse(stdout) as { check: string; state: string; fix?: string }[];
  expect(findings.filter(({ state }) => state === "failed")).toMatchObject([
    { check: "key", fix: expect.stringContaining("tenantry key create") as unknown },
  ]);
  expect(findings.map(({ check }) => check)).not.toContain("initialize");
});

test("doctor says how far it came without a key", async () => {
  const { exit, stdout, stderr } = await tenantry("doctor", keyed);
  expect(exit).toBe(0);
  expect(stdout).toMatch(/the endpoint needs a credential\n.*An unknown tenant gives the same answer/);
  expect(stderr).toContain("some checks need a credential");
});

test("doctor says whose pages may call a tenant", async () => {
  const allowed = await admin.tenant({ allowedOrigins: ["https://app.example.com"] });
  const says = async (page: string) => (await tenantry("doctor", allowed, "--origin", page)).stdout;
  expect(await says("https://app.example.com")).toContain("a page of https://app.example.com may call it");
  expect(await says("https://other.example.com")).toContain("a page of https://other.example.com may not call it");
});
