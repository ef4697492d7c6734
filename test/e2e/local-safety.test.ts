// What `npm start` keeps from others on the same machine: pages that a browser shows, and people who list processes.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../scripts/fixture-server.ts";
import { type Application, shellEnvironment, startApplication } from "../support/application.ts";

const ROOT = join(import.meta.dirname, "../..");
const MODULES = join(ROOT, "node_modules");

let folder: string;
let application: Application;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tenantry-safety-"));
  application = await startApplication(join(folder, "state"));
});

afterAll(async () => {
  await application.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

describe("of the paths that wrangler serves beside the Worker", () => {
  /** Where the installed releases name them. */
  const SOURCES = ["miniflare/dist/src/workers/core/entry.worker.js", "wrangler/wrangler-dist/ProxyWorker.js"];
  /**
   * No setting of wrangler takes these away. They start handlers that the Worker does not have, and a proxy that wants
   * a secret: what they answer shows that they did nothing.
   */
  const IDLE: Readonly<Record<string, number>> = { scheduled: 500, email: 400, "platform-proxy": 400 };
  const IDLE_PATH = /^\/cdn-cgi\/(?:local|handler|mf)\/(scheduled|email|platform-proxy)$/;

  function served(): string[] {
    const texts = SOURCES.map((file) => readFileSync(join(MODULES, file), "utf8")).join("\n");
    const named = [...texts.matchAll(/"(\/(?:cdn-cgi|__cf_local)\/[\w/-]+)"/g)].map(([, path]) => path ?? "");
    // An older name of a folder has everything in it too.
    const aliases = named.map((path) => path.replace("/cdn-cgi/local/", "/cdn-cgi/handler/"));
    return [...new Set([...named, ...aliases])].toSorted();
  }

  test("there are the explorer's, old and new", () => {
    expect(served()).toEqual(expect.arrayContaining(["/cdn-cgi/explorer", "/cdn-cgi/local/explorer"]));
  });

  test.each(["GET", "POST"])("%s finds none that does something, with or without more of a path", async (method) => {
    for (const path of served()) {
      for (const end of ["", "/", "/api/storage/kv/namespaces"]) {
        const url = `${path}${end}`;
        const { status } = await fetch(`${application.origin}${url}`, { method });
        const [, idle = ""] = IDLE_PATH.exec(url) ?? [];
        expect([method, url, status]).toEqual([method, url, IDLE[idle] ?? 404]);
      }
    }
  });

  test("none runs SQL in an object", async () => {
    const path = "/cdn-cgi/explorer/api/workers/durable_objects/namespaces/tenantry-TenantObject/query";
    const body = JSON.stringify({ durable_object_name: "demo", queries: [{ sql: "SELECT 1" }] });
    const headers = { "content-type": "application/json", origin: "http://localhost:3000" };
    const answer = await fetch(`${application.origin}${path}`, { method: "POST", headers, body });
    expect({ status: answer.status, text: await answer.text() }).toEqual({
      status: 404,
      text: expect.stringContaining("Not found: MCP endpoints are at"),
    });
  });
});

describe("what the Worker is told in secret", () => {
  const ownFile = (name: string) => join(ROOT, ".wrangler", name);
  const port = () => new URL(application.origin).port;

  test("is in no argument of any process", () => {
    const { stdout } = spawnSync("ps", ["-A", "-ww", "-o", "args="], { encoding: "utf8", maxBuffer: 2 ** 26 });
    expect(stdout).toContain(`--port ${port()}`);
    for (const secret of [application.adminToken, readFileSync(ownFile("development-secrets-key"), "utf8")]) {
      expect(secret).toMatch(/^[A-Za-z0-9_-]{32,}$/);
      expect(stdout.includes(secret)).toBe(false);
    }
  });

  test("is in force: the token is an owner's, and a secret can be sealed", async () => {
    const headers = { authorization: `Bearer ${application.adminToken}`, "content-type": "application/json" };
    const url = `${application.origin}/admin/v1/tenants/demo/secrets/API_TOKEN`;
    const answer = await fetch(url, { method: "PUT", headers, body: JSON.stringify({ value: "x" }) });
    expect({ status: answer.status, text: await answer.text() }).toMatchObject({
      status: expect.toBeOneOf([200, 201]),
    });
  });

  test("is in files that only their owner may read", () => {
    const files = ["development-secrets-key", `development-token-${port()}`, `development-vars-${port()}`];
    for (const file of files) {
      expect(existsSync(ownFile(file)), file).toBe(true);
      expect([file, (statSync(ownFile(file)).mode & 0o777).toString(8)]).toEqual([file, "600"]);
    }
  });
});

describe("the folder of what is stored", () => {
  test("is refused to a second start, which says who has it", () => {
    const other = startIn(join(folder, "state"));
    expect({ status: other.status, stdout: other.stdout }).toEqual({ status: 1, stdout: "" });
    const said =
      /is in use by process (\d+), a server at port (\d+): stop that process, or choose another folder with --persist-to\n$/;
    const [, pid, port] = said.exec(other.stderr) ?? [];
    expect(other.stderr).toContain(join(folder, "state"));
    expect(port).toBe(new URL(application.origin).port);
    const { stdout } = spawnSync("ps", ["-ww", "-o", "args=", "-p", pid ?? ""], { encoding: "utf8" });
    expect(stdout).toContain(`start.ts --port ${port}`);
  });

  test("is free when its server is stopped, and when all of it is killed", async () => {
    const storage = join(folder, "again");
    const first = await startApplication(storage);
    await first.kill();
    const second = await startApplication(storage);
    expect(startIn(storage).stderr).toContain("is in use");
    await second.stop();
    expect(readdirSync(storage)).not.toContain("server.pid");
  });

  function startIn(storage: string) {
    const args = [join(ROOT, "scripts/start.ts"), "--port", "1", "--persist-to", storage];
    return spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8", env: shellEnvironment(), timeout: 60_000 });
  }
});

test("the command line finds a server at another port by the folder that it was started in", async () => {
  const project = join(folder, "project");
  mkdirSync(project);
  const port = await freePort();
  const args = [
    "--config",
    join(ROOT, "wrangler.toml"),
    "--port",
    String(port),
    "--persist-to",
    join(project, "state"),
  ];
  const child = spawn(process.execPath, [join(ROOT, "scripts/start.ts"), ...args], {
    cwd: project,
    env: { ...shellEnvironment(), PATH: `${join(MODULES, ".bin")}${delimiter}${process.env["PATH"] ?? ""}` },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  onTestFinished(() => void child.kill());
  for await (const line of createInterface({ input: child.stdout })) if (line.includes("Ctrl+C")) break;
  const list = () =>
    spawnSync(process.execPath, [join(ROOT, "src/cli/main.ts"), "tenant", "list", "--json"], {
      cwd: project,
      encoding: "utf8",
      env: { ...shellEnvironment(), XDG_CONFIG_HOME: project },
    });
  const { status, stdout, stderr } = list();
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toContain('"demo"');
  child.kill();
  await ended;
  expect(readdirSync(join(project, ".wrangler"))).toEqual(["development-secrets-key"]);
});
