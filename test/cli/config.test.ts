// Which server is spoken to and as whom, and that a token never goes where it was not meant to go.

import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { findTarget } from "../../src/cli/config.ts";
import { processIdentityOf, type ProcessIdentity } from "../../src/cli/local/process-identity.ts";
import { commandLine, CommandLine } from "../support/command-line.ts";
import { TOKEN } from "../support/fake-admin.ts";

async function bare() {
  const made = await commandLine();
  return { ...made, cli: new CommandLine(made.folder, { HOME: made.folder }) };
}

test("login checks the token, keeps it for its owner only, and later commands need nothing", async () => {
  const { admin, cli, folder } = await bare();
  const file = join(folder, ".config/tenantry/config.json");
  const wrong = await cli.run(["login", "--url", admin.url, "--token", "wrong"]);
  expect(wrong.exit).toBe(4);
  expect(wrong.stderr).toContain("the token of --token was refused");
  await expect(stat(file)).rejects.toThrow("ENOENT");
  expect((await cli.run(["login", "--url", `${admin.url}/`, "--token", TOKEN])).exit).toBe(0);
  expect(((await stat(file)).mode & 0o777).toString(8)).toBe("600");
  expect((await cli.run(["tenant", "list"])).exit).toBe(0);
  expect((await cli.run(["logout"])).stdout).toContain("is deleted");
  expect(await readFile(file, "utf8")).not.toContain(TOKEN);
});

test("login reads the token from stdin, so that no shell remembers it", async () => {
  const { admin, cli } = await bare();
  expect((await cli.run(["login", "--url", admin.url], { stdin: `${TOKEN}\n` })).exit).toBe(0);
  expect((await cli.run(["tenant", "list"])).exit).toBe(0);
  expect((await cli.run(["login", "--url", admin.url], { stdin: "" })).exit).toBe(2);
});

test("a token that is typed is not shown", async () => {
  const { admin, cli } = await bare();
  const { exit, stdout, stderr } = await cli.run(["login", "--url", admin.url], { tty: true, stdin: `${TOKEN}\n` });
  expect(exit).toBe(0);
  expect(stdout + stderr).not.toContain(TOKEN);
});

test("a kept token goes only to the server it was kept for", async () => {
  const { admin, cli } = await bare();
  const other = await commandLine();
  await cli.run(["login", "--url", admin.url, "--token", TOKEN]);
  const tokens: (string | undefined)[] = [];
  other.admin.intercept = ({ header }) => {
    tokens.push(header("authorization"));
    return undefined;
  };
  const { exit, stderr } = await cli.run(["tenant", "list", "--url", other.admin.url]);
  expect(exit).toBe(4);
  expect(stderr).toContain("no token: set TENANTRY_TOKEN or run tenantry login");
  expect(tokens).toEqual([undefined]);
});

test("several servers are kept, the last login is the default", async () => {
  const { admin, cli } = await bare();
  const other = await commandLine();
  await cli.run(["login", "--url", admin.url, "--token", TOKEN]);
  await cli.run(["login", "--url", other.admin.url, "--token", TOKEN]);
  other.admin.addTenant("there");
  expect((await cli.run(["tenant", "list"])).stdout).toContain("there");
  expect((await cli.run(["tenant", "list", "--url", admin.url])).stdout).toBe("");
});

test("flags win over the environment, and the environment over what is kept", async () => {
  const { admin, cli } = await bare();
  await cli.run(["login", "--url", admin.url, "--token", TOKEN]);
  const env = { TENANTRY_TOKEN: "wrong" };
  const refused = await cli.run(["tenant", "list"], { env });
  expect(refused).toMatchObject({ exit: 4, stderr: expect.stringContaining("TENANTRY_TOKEN was refused") as string });
  expect((await cli.run(["tenant", "list", "--token", TOKEN], { env })).exit).toBe(0);
  expect((await cli.run(["tenant", "list"], { env: { TENANTRY_URL: "http://127.0.0.1:1" } })).exit).toBe(6);
  expect((await cli.run(["tenant", "list"], { env: { TENANTRY_URL: "", TENANTRY_TOKEN: "" } })).exit).toBe(0);
});

test("the development token of an npm start in this folder or above is used, on this machine only", async () => {
  const { admin, cli, folder } = await bare();
  await mkdir(join(folder, ".wrangler"));
  await mkdir(join(folder, "deep/er"), { recursive: true });
  await writeFile(join(folder, `.wrangler/development-token-${new URL(admin.url).port}`), `${TOKEN}\n`);
  expect((await cli.run(["tenant", "list", "--url", admin.url])).exit).toBe(0);
  const deeper = new CommandLine(join(folder, "deep/er"), cli.env);
  expect((await deeper.run(["tenant", "list", "--url", admin.url])).exit).toBe(0);
  await writeFile(join(folder, ".wrangler/development-token-80"), `${TOKEN}\n`);
  const elsewhere = await cli.run(["tenant", "list", "--url", "http://mcp.invalid"]);
  expect(elsewhere.stderr).not.toContain("the token goes to");
});

test("the token that wrangler dev gives the Worker of this folder is used, on this machine only", async () => {
  const { admin, cli, folder } = await bare();
  await mkdir(join(folder, "src"));
  await writeFile(join(folder, ".dev.vars"), `ADMIN_TOKEN="${TOKEN}"\nSECRETS_KEY=x\n`);
  const below = new CommandLine(join(folder, "src"), cli.env);
  for (const one of [cli, below]) expect((await one.run(["tenant", "list", "--url", admin.url])).exit).toBe(0);
  const elsewhere = await findTarget(
    { url: "https://mcp.example.com" },
    { cwd: folder, env: cli.env, signal: new AbortController().signal },
  );
  expect(elsewhere.token).toBeUndefined();
  await writeFile(join(folder, ".dev.vars"), "ADMIN_TOKEN=another\n");
  const { exit, stderr } = await cli.run(["tenant", "list", "--url", admin.url]);
  expect({ exit, stderr }).toEqual({
    exit: 4,
    stderr: expect.stringContaining(`the token of ${join(folder, ".dev.vars")} was refused`) as string,
  });
});

describe("without a server that is named", () => {
  interface Started {
    readonly port: string;
    readonly run?: ProcessIdentity;
    readonly token?: string;
  }

  /** As `npm start` leaves it. */
  async function started(
    folder: string,
    { port, run = processIdentityOf(process.pid), token = TOKEN }: Started,
  ): Promise<void> {
    await mkdir(join(folder, ".wrangler"), { recursive: true });
    await writeFile(join(folder, ".wrangler", `development-token-${port}`), `${token}\n${run.pid}\n${run.began}\n`);
  }

  test("the one that npm start runs is spoken to, at whichever port, from the folder and below", async () => {
    const { admin, cli, folder } = await bare();
    const { port } = new URL(admin.url);
    const ended = spawnSync(process.execPath, ["-e", ""]).pid;
    await started(folder, { port: "1", run: { pid: ended, began: "" }, token: "ended" });
    await started(folder, { port: "2", run: { pid: process.pid, began: "before" }, token: "of-another-process" });
    await started(folder, { port });
    await mkdir(join(folder, "deep"));
    admin.addTenant("here");
    for (const cwd of [folder, join(folder, "deep")]) {
      const { exit, stdout, stderr } = await new CommandLine(cwd, cli.env).run(["tenant", "list"]);
      expect({ exit, stderr }).toEqual({ exit: 0, stderr: "" });
      expect(stdout).toContain("here");
    }
  });

  test("the nearest folder decides", async () => {
    const { admin, cli, folder } = await bare();
    await started(folder, { port: "1" });
    const near = join(folder, "near");
    await started(near, { port: new URL(admin.url).port });
    expect((await new CommandLine(near, cli.env).run(["tenant", "list"])).exit).toBe(0);
  });

  test("one of several servers is not guessed, unless it has the usual port", async () => {
    const { cli, folder } = await bare();
    await started(folder, { port: "9700" });
    await started(folder, { port: "9600" });
    const { exit, stderr } = await cli.run(["tenant", "list"]);
    expect({ exit, stderr }).toEqual({
      exit: 2,
      stderr: "tenantry: npm start runs at the ports 9600 and 9700: choose one with --url http://localhost:PORT\n",
    });
    await started(folder, { port: "8362" });
    expect(await findTarget({}, { cwd: folder, env: cli.env, signal: new AbortController().signal })).toMatchObject({
      url: "http://localhost:8362",
    });
  });

  const JSONC = `{
  // "port": 1
  "dev": { "ip": "127.0.0.1", "port": 8455 },
}`;
  test.each([
    ["wrangler.toml", '[dev]\nport = 8455\n\n[vars]\nport = "1"\n', "8455"],
    ["wrangler.toml", 'port = 1\n[dev] # of mine\nip = "127.0.0.1"\n  port=8455', "8455"],
    ["wrangler.toml", '[dev]\nip = "127.0.0.1"\n[vars]\nport = 1\n', "8362"],
    ["wrangler.jsonc", JSONC, "8455"],
    ["wrangler.jsonc", '{ "vars": { "port": 1 } }', "8362"],
  ])("where no npm start runs, %s %j leads to the port %s of wrangler dev", async (name, text, port) => {
    const { admin, cli, folder } = await bare();
    await writeFile(join(folder, name), text);
    const place = { cwd: join(folder, "src"), env: cli.env, signal: new AbortController().signal };
    expect(await findTarget({}, place)).toMatchObject({ url: `http://localhost:${port}` });
    await started(folder, { port: new URL(admin.url).port });
    expect(await findTarget({}, place)).toMatchObject({ url: `http://localhost:${new URL(admin.url).port}` });
  });

  test("a server that login kept comes first, and so does one that the command starts itself", async () => {
    const { admin, cli, folder } = await bare();
    await started(folder, { port: "9700" });
    await started(folder, { port: "9600" });
    const place = { cwd: folder, env: cli.env, signal: new AbortController().signal };
    expect(await findTarget({ local: true }, place)).toMatchObject({ url: "http://localhost:8362" });
    await cli.run(["login", "--url", admin.url, "--token", TOKEN]);
    expect(await findTarget({}, place)).toMatchObject({ url: admin.url });
  });
});

test("a token that would travel unencrypted is warned of", async () => {
  const { cli } = await bare();
  const args = ["tenant", "list", "--url", "http://mcp.invalid", "--token", "x"];
  expect((await cli.run(args)).stderr).toContain("Warning: the token goes to http://mcp.invalid unencrypted");
});

test("the address of the admin API is that of its server", async () => {
  const { admin, cli } = await bare();
  for (const url of [`${admin.url}/admin/v1`, `${admin.url}/admin/v1/`]) {
    expect((await cli.run(["tenant", "list", "--url", url, "--token", TOKEN])).exit).toBe(0);
  }
  expect(admin.requests[0]).toMatch(/^GET \/admin\/v1\/tenants/);
});

test.each([
  { url: "https://user:pw@x.example", says: "user name or password" },
  { url: "https://x.example/?a=b", says: "query or fragment" },
  { url: "http://", says: "not an http or https URL" },
])("the URL $url is refused", async ({ url, says }) => {
  const { cli } = await bare();
  const { exit, stderr } = await cli.run(["tenant", "list", "--url", url]);
  expect(exit).toBe(2);
  expect(stderr).toContain(says);
});

test("a broken configuration file is named, not ignored", async () => {
  const { cli, folder } = await bare();
  await mkdir(join(folder, ".config/tenantry"), { recursive: true });
  await writeFile(join(folder, ".config/tenantry/config.json"), "{");
  const { exit, stderr } = await cli.run(["tenant", "list"]);
  expect(exit).toBe(2);
  expect(stderr).toContain("config.json: is not a JSON object");
});
