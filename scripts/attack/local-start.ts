// What `npm start` keeps from others on the same machine, and from pages that a browser shows there. And tokens that could
// be guessed, hostnames that are the Worker's own.

import { spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { rowOf, type Attack, type Row } from "./report.ts";
import { toolsOf, type Target } from "./target.ts";

const ROOT = join(import.meta.dirname, "../..");

export const localStart: Attack = {
  name: "local start",
  classes: ["trust in our own server"],
  run: async (target) => [
    await explorer(target),
    await weakToken(target),
    await hostnames(target),
    ...(target.pid === undefined ? [] : [processList(target), storedFor(target), await second(target)]),
  ],
};

async function explorer(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const folders = [
    "/cdn-cgi/explorer",
    "/cdn-cgi/local/explorer",
    "/cdn-cgi/handler/explorer",
    "/__cf_local/explorer",
    "/__wrangler",
    "/cdn-cgi/mf",
  ];
  const ends = [
    "",
    "/",
    "/api",
    "/api/workers",
    "/api/storage/kv/namespaces",
    "/api/workers/durable_objects/namespaces",
    "/api/d1/database",
    "/api/local/workers",
  ];
  const paths = folders.flatMap((folder) => ends.map((end) => folder + end));
  for (const path of paths) {
    const got = await target.send(path);
    const posted = await target.send(path, { method: "POST", body: '{"sql":"select 1"}' });
    if (got.status < 400) gaveWay.push(`GET ${path}: ${got.status}`);
    if (posted.status < 400) gaveWay.push(`POST ${path}: ${posted.status}`);
  }
  return rowOf(
    "10 the explorer is open",
    `${paths.length * 2} requests to what wrangler may serve`,
    gaveWay,
    "4xx or 5xx each",
  );
}

/** The target was started with `ADMIN_TOKEN=password`. */
async function weakToken(target: Target): Promise<Row> {
  const guesses = [
    "password",
    "admin",
    "",
    "undefined",
    "null",
    "secret",
    "changeme",
    "a".repeat(32),
    target.adminToken.toLowerCase(),
    target.adminToken.slice(0, -1),
  ];
  const gaveWay: string[] = [];
  for (const guess of guesses) {
    const { status } = await target.admin("GET", "/tenants", undefined, guess);
    if (status !== 401 && status !== 503) gaveWay.push(`"${guess.slice(0, 8)}": ${status}`);
  }
  return rowOf(
    "11 a weak ADMIN_TOKEN is accepted",
    `ADMIN_TOKEN=password and ${guesses.length} guesses`,
    gaveWay,
    "401 each",
  );
}

async function hostnames(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  let tried = 0;
  for (const at of [target, ...(target.lab ? [target.lab] : [])]) {
    const { hostname, host } = new URL(at.origin);
    const names = [
      hostname,
      host,
      hostname.toUpperCase(),
      `${hostname}.`,
      "localhost",
      "a.localhost",
      "127.0.0.1",
      "[::1]",
      "x.workers.dev",
      "mcp.test",
      "MCP.TEST",
      "mcp.test.",
      "demo.mcp.test",
    ];
    for (const name of new Set(names)) {
      tried += 1;
      const tenant = await at.tenant();
      await at.admin("PUT", `/tenants/${tenant}/document?wait=1`, { mode: "open", hostnames: [name] });
      const [admin, health] = [await at.admin("GET", "/tenants"), await at.send("/healthz")];
      if (admin.status !== 200 || health.status !== 200) gaveWay.push(`${name}: the admin API answers ${admin.status}`);
      if ((await toolsOf(at, tenant)).length === 0) gaveWay.push(`${name}: tenants by path are gone`);
      await at.admin("DELETE", `/tenants/${tenant}`);
    }
  }
  return rowOf(
    "11 a tenant takes the Worker's hostname",
    `${tried} names in documents, with and without TENANT_HOST`,
    gaveWay,
    "admin API and paths still serve",
  );
}

function processList(target: Target): Row {
  const gaveWay: string[] = [];
  let looked = 0;
  if (process.platform === "linux") {
    for (const id of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      looked += 1;
      if (argumentsOf(id).includes(target.adminToken)) gaveWay.push(`process ${id} shows the token`);
    }
  }
  const wrangler = join(ROOT, ".wrangler");
  for (const name of readdirSync(wrangler).filter((file) => /^development-(vars|secrets|token)|token/.test(file))) {
    const mode = statSync(join(wrangler, name)).mode & 0o777;
    if (mode & 0o077) gaveWay.push(`.wrangler/${name} may be read by others: ${mode.toString(8)}`);
  }
  return rowOf(
    "10 secrets in the process list",
    `arguments of ${looked} processes; modes of files with secrets`,
    gaveWay,
    "none shows one; 0600",
  );
}

/** Keys with which sessions and tokens are sealed lie there in clear. */
function storedFor({ storage = "" }: Target): Row {
  const entries = ["", ...readdirSync(storage, { recursive: true, encoding: "utf8" })];
  // What SQLite keeps beside a database for a moment may be gone by now.
  const modeOf = (entry: string) => statSync(join(storage, entry), { throwIfNoEntry: false })?.mode ?? 0;
  const open = entries.filter((entry) => modeOf(entry) & 0o077);
  return rowOf(
    "31 what is stored is everybody's to read",
    `modes of ${entries.length} files and folders of what npm start stores`,
    open.map((entry) => `${entry}: ${(modeOf(entry) & 0o777).toString(8)}`),
    "0600 and 0700",
  );
}

function argumentsOf(id: string): string {
  try {
    return readFileSync(`/proc/${id}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

async function second(target: Target): Promise<Row> {
  const storage = target.storage ?? dirname(ROOT);
  const child = spawn("npm", ["start", "--", "--port", "0", "--persist-to", storage], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  const code = await new Promise<number | null>((resolve) => {
    child.once("exit", resolve);
    setTimeout(() => resolve(null), 15_000).unref();
  });
  if (code === null && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  const tenant = await target.tenant();
  const writes = await Promise.all(
    Array.from({ length: 20 }, (_none, at) => target.tool(tenant, "note_write", { title: `n${at}`, text: "x" })),
  );
  const failed = writes.filter(({ status, text }) => status !== 200 || /SQLITE_BUSY|-32603/.test(text)).length;
  const gaveWay = [
    ...(code === null || code === 0 ? ["a second server started over the same data"] : []),
    ...(failed > 0 ? [`${failed} of 20 writes failed`] : []),
  ];
  return rowOf(
    "10 two servers over one folder",
    "npm start a second time over the same stored data",
    gaveWay,
    `refused: ${output.trim().split("\n").at(-1)?.slice(0, 120) ?? ""}`,
  );
}
