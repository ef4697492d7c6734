// `npm run setup` and `npm run deploy` with a program in wrangler's place that writes down what it is asked, and has an account in a
// file; what they write is taken by wrangler itself.

import { execFile } from "node:child_process";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const ID = "0123456789abcdef0123456789abcdef";

const STAND_IN = `#!${process.execPath}
const { appendFileSync, existsSync, readFileSync, writeFileSync } = require("node:fs");
const args = process.argv.slice(2);
const at = (name) => __dirname + "/" + name;
const account = existsSync(at("account")) ? JSON.parse(readFileSync(at("account"), "utf8")) : { kv: [], secrets: [] };
if (args[0] === "whoami" && existsSync(at("signed-out"))) {
  console.log('{"loggedIn":false}');
  process.exit(1);
}
const input = args[1] === "put" ? readFileSync(0, "utf8") : "";
appendFileSync(at("asked"), args.join(" ") + "\\n");
if (existsSync(at("fails")) && args.join(" ").startsWith(readFileSync(at("fails"), "utf8"))) process.exit(1);
if (args[0] === "kv" && args[2] === "list") console.log(JSON.stringify(account.kv));
if (args[0] === "kv" && args[2] === "create") {
  account.kv.push({ id: "${ID}", title: args[3] });
  console.log('Created. [[kv_namespaces]] id = "${ID}"');
}
if (args[0] === "secret" && args[1] === "list") console.log("[\\n" + account.secrets.map((one) => JSON.stringify(one)).join() + "]");
if (args[0] === "secret" && args[1] === "put") account.secrets.push({ name: args[2], value: input });
if (args[0] === "deploy") console.log("Deployed\\n  " + (process.env.DEPLOYED_TO ?? ""));
writeFileSync(at("account"), JSON.stringify(account));
`;

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tenantry-setup-"));
  await mkdir(join(folder, "bin"));
  await writeFile(join(folder, "bin/wrangler"), STAND_IN.replaceAll("require(", "process.getBuiltinModule("));
  await chmod(join(folder, "bin/wrangler"), 0o755);
  await copyFile(join(ROOT, "wrangler.toml"), join(folder, "wrangler.toml"));
  return () => rm(folder, { recursive: true });
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(script: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const PATH = [join(folder, "bin"), process.env["PATH"]].join(delimiter);
  return new Promise((resolve) => {
    const all = { cwd: folder, env: { ...process.env, PATH, ...env } };
    execFile(process.execPath, [join(ROOT, `scripts/${script}.ts`), ...args], all, (error, stdout, stderr) => {
      resolve({ code: error ? 1 : 0, stdout, stderr });
    });
  });
}

const read = (name: string) => readFile(join(folder, name), "utf8").catch(() => "");
const asked = async () => (await read("bin/asked")).split("\n").filter(Boolean);
const isWriting = (line: string) => /create|put|deploy/.test(line);

test("says what is missing, and a dry run makes nothing", async () => {
  const toml = await read("wrangler.toml");
  const { code, stdout } = await run("setup", ["--dry-run"]);
  expect(code).toBe(0);
  expect(stdout).toContain("KV namespace tenantry-BODIES");
  expect(stdout).toContain("secret ADMIN_TOKEN");
  expect(stdout).toContain("secret SECRETS_KEY");
  expect((await asked()).filter(isWriting)).toEqual([]);
  expect(await read("wrangler.toml")).toBe(toml);
});

test("makes what is missing, once, however often it runs", async () => {
  expect(await run("setup", [])).toMatchObject({ code: 0 });
  expect(await read("wrangler.toml")).toContain(`binding = "BODIES"\nid = "${ID}"`);
  expect((await asked()).filter(isWriting)).toEqual([
    "kv namespace create tenantry-BODIES",
    "secret put ADMIN_TOKEN",
    "secret put SECRETS_KEY",
  ]);
  const { secrets } = JSON.parse(await read("bin/account")) as { secrets: { name: string; value: string }[] };
  for (const { name, value } of secrets) expect(await read(`.wrangler/secrets/${name}`)).toBe(value);
  for (const { value } of secrets) expect(Buffer.from(value, "base64url")).toHaveLength(32);
  const before = await asked();
  expect((await run("setup", [])).stdout).toContain("nothing is missing");
  expect((await asked()).slice(before.length).filter(isWriting)).toEqual([]);
});

test("cut off, it goes on where it was, with the namespace and the secrets that it made", async () => {
  await writeFile(join(folder, "bin/fails"), "secret put SECRETS_KEY");
  expect(await run("setup", [])).toMatchObject({ code: 1, stderr: expect.stringContaining("SECRETS_KEY") });
  const key = await read(".wrangler/secrets/SECRETS_KEY");
  await rm(join(folder, "bin/fails"));
  // The id was lost: the account has the namespace.
  await copyFile(join(ROOT, "wrangler.toml"), join(folder, "wrangler.toml"));
  expect(await run("setup", [])).toMatchObject({ code: 0 });
  expect((await asked()).filter((line) => line.includes("create"))).toHaveLength(1);
  expect(await read("wrangler.toml")).toContain(`id = "${ID}"`);
  expect(await read("bin/account")).toContain(key);
});

test("an environment has bindings of its own, which wrangler takes", async () => {
  await run("setup", []);
  expect(await run("setup", ["--env", "staging"])).toMatchObject({ code: 0 });
  expect(await asked()).toContain("kv namespace create tenantry-staging-BODIES");
  expect(await asked()).toContain("secret put SECRETS_KEY --env staging");
  expect((await run("setup", ["--env", "staging"])).stdout).toContain("nothing is missing");
  const classes = [...(await read("wrangler.toml")).matchAll(/class_name = "(\w+)"/g)].map(([, name]) => name);
  const worker = [...new Set(classes)].map((name) => `export class ${name} {}`).join("\n");
  await mkdir(join(folder, "src"));
  await writeFile(join(folder, "src/worker.ts"), `${worker}\nexport default { fetch() {} };\n`);
  const { code, stdout } = await new Promise<Ended>((resolve) => {
    const wrangler = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
    const args = [wrangler, "deploy", "--dry-run", "--env", "staging"];
    execFile(process.execPath, args, { cwd: folder }, (error, out, stderr) => {
      resolve({ code: error ? 1 : 0, stdout: out, stderr });
    });
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(/env\.TENANTS \(TenantObject.*\n(?:.*\n)*.*env\.BODIES/);
});

test("a deployment without a namespace is not begun, and it is said what makes one", async () => {
  const { code, stderr } = await run("deploy", ["--no-check"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("npm run setup")]);
  expect(await asked()).toEqual([]);
});

test.each([
  { status: 200, says: "Ready: ", code: 0 },
  { status: 503, says: "wrangler rollback --env staging", code: 1 },
])("a deployment that answers $status to /readyz ends with $code", async ({ status, says, code }) => {
  await run("setup", ["--env", "staging"]);
  const server = createServer((_request, response) => response.writeHead(status).end("KV is away")).listen(
    0,
    "127.0.0.1",
  );
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ended = await run("deploy", ["--no-check", "--env", "staging", "--url", url], { READY_WITHIN_MS: "1" });
  expect(ended).toMatchObject({ code });
  expect(ended.stdout + ended.stderr).toContain(says);
  expect(await asked()).toContain("deploy --env staging");
});

test("who is not signed in is told how to, and nothing is changed", async () => {
  await writeFile(join(folder, "bin/signed-out"), "");
  const toml = await read("wrangler.toml");
  for (const args of [[], ["--dry-run"], ["--env", "staging"]]) {
    const { code, stderr } = await run("setup", args);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^setup: wrangler is not signed in .*npx wrangler login/),
    ]);
  }
  expect(await read("wrangler.toml")).toBe(toml);
  await writeFile(join(folder, "wrangler.toml"), toml.replace(/^id = .*$/m, `id = "${ID}"`));
  expect((await run("deploy", ["--no-check"])).stderr).toContain("npx wrangler login");
  expect((await asked()).filter(isWriting)).toEqual([]);
});

test("a deployment is tried out without an account, a namespace or secrets", async () => {
  await writeFile(join(folder, "bin/signed-out"), "");
  const { code, stdout } = await run("deploy", ["--dry-run", "--no-check"]);
  expect([code, stdout]).toEqual([0, expect.stringContaining("Nothing was deployed: --dry-run")]);
  expect(await asked()).toEqual(["deploy --dry-run"]);
});

test("what fails at wrangler is said once, in its words", async () => {
  await writeFile(join(folder, "bin/fails"), "kv namespace");
  const { stderr } = await run("setup", []);
  expect(stderr).toMatch(/^setup: wrangler kv namespace list ended with 1:\n/);
  await writeFile(join(folder, "bin/fails"), "deploy");
  await writeFile(join(folder, "wrangler.toml"), (await read("wrangler.toml")).replace(/^id = .*$/m, `id = "${ID}"`));
  expect((await run("deploy", ["--no-check"])).stderr).toContain(
    "npx wrangler deployments list says what is deployed now",
  );
});

test.each([
  { script: "setup", args: ["--dry"], says: "setup: Unknown option '--dry'; npm run setup -- --help" },
  { script: "setup", args: ["staging"], says: "setup: Unexpected argument 'staging'; npm run setup -- --help" },
  { script: "setup", args: ["--env", "Staging"], says: "setup: --env Staging: a-z, 0-9 and hyphens" },
  { script: "deploy", args: ["--env"], says: "deploy: Option '--env <value>' argument missing; npm run deploy" },
  { script: "deploy", args: ["--url", "nonsense"], says: "deploy: --url nonsense: is no URL" },
])("$script $args is refused in one line", async ({ script, args, says }) => {
  const { code, stderr } = await run(script, args);
  expect([code, stderr.trimEnd().split("\n")]).toEqual([1, [expect.stringContaining(says)]]);
  expect(await asked()).toEqual([]);
});

test.each([
  { change: (toml: string) => toml.replace(/^name = .*$/m, ""), says: "wrangler.toml has no name" },
  { change: (toml: string) => toml.replace('"BODIES"', '"KV"'), says: 'no [[kv_namespaces]] with binding = "BODIES"' },
  { change: (toml: string) => `${toml}\n[env.staging]\nvars = {}\n`, says: "write the bindings of [env.staging]" },
])("a configuration of which it says $says is left as it is", async ({ change, says }) => {
  const toml = change(await read("wrangler.toml"));
  await writeFile(join(folder, "wrangler.toml"), toml);
  expect(await run("setup", ["--env", "staging"])).toMatchObject({ code: 1, stderr: expect.stringContaining(says) });
  expect(await read("wrangler.toml")).toBe(toml);
  expect((await asked()).filter(isWriting)).toEqual([]);
});

test("without a configuration it is said where it is looked for", async () => {
  await rm(join(folder, "wrangler.toml"));
  for (const script of ["setup", "deploy"]) {
    expect((await run(script, [])).stderr).toBe(
      `${script}: wrangler.toml: no such file: run this in a checkout of tenantry\n`,
    );
  }
});

test("an id is put where there is none, beside a comment and in other quotes", async () => {
  const written = (await read("wrangler.toml"))
    .replace(/^name = .*$/m, "name = 'tenantry'")
    .replace(/^binding = "BODIES"\nid = .*$/m, "binding = 'BODIES'\n# made by setup");
  await writeFile(join(folder, "wrangler.toml"), written);
  expect(await run("setup", [])).toMatchObject({ code: 0 });
  expect(await read("wrangler.toml")).toContain(`binding = 'BODIES'\nid = "${ID}"\n# made by setup`);
  expect((await run("setup", [])).stdout).toContain("nothing is missing. Next: npm run deploy");
});

test("an environment is told of what it is not given, and switched off stays switched off", async () => {
  const written = (await read("wrangler.toml")).replace(/^# (\[\[analytics.*)\n# (.*)\n# (.*)$/m, "$1\n$2\n$3");
  await writeFile(
    join(folder, "wrangler.toml"),
    written.replace("[observability]\nenabled = true", "[observability]\nenabled = false"),
  );
  const { stdout } = await run("setup", ["--env", "staging"]);
  expect(stdout).toContain("Without [[analytics_engine_datasets]]: write there");
  expect(stdout).not.toContain("Without [[analytics_engine_datasets]] [");
  expect((await read("wrangler.toml")).match(/^\[observability\]$/gm)).toHaveLength(1);
});
