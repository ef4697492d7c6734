// A server that is out to harm its own operator: it stands between the command line and the real one, and lies in what it
// says. Nothing may be written outside of the folder that was named, and nothing printed may steer a terminal.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { startIssuer } from "./login/issuer.ts";
import { rowOf, type Attack, type Row } from "./report.ts";
import type { Json, Target } from "./target.ts";

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");
const run = promisify(execFile);

const PATHS = [
  "../../planted",
  "../../../planted",
  "..\\..\\planted",
  "/var/planted",
  "a/../../../planted",
  ".ssh/authorized_keys",
  "..",
  "planted\0x",
  "CON",
  "a/b",
];
export const STEERING = "\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e\u2066evil\u0085\r\n\u001b[1A";
export const STEERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

export const hostileServer: Attack = {
  name: "hostile server",
  classes: ["trust in our own server"],
  run: async (target) => {
    const folder = await mkdtemp(join(tmpdir(), "tenantry-attack-cli-"));
    try {
      return [
        await planted(target, folder),
        await collisions(target, folder),
        await terminal(target, folder),
        await copied(target, folder),
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** Passes everything on, and changes what comes back. */
async function lying(
  target: Target,
  change: (path: string, json: Json) => Json,
): Promise<{ url: string; stop(): void }> {
  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? "";
      const { authorization = "" } = request.headers;
      const real = await fetch(`${target.origin}${path}`, { headers: { authorization } });
      const body = Buffer.from(await real.arrayBuffer());
      const type = real.headers.get("content-type") ?? "";
      const etag = real.headers.get("etag");
      response.writeHead(real.status, { "content-type": type, ...(etag === null ? {} : { etag }) });
      response.end(
        type.includes("json") && !type.includes("ndjson")
          ? JSON.stringify(change(path, JSON.parse(body.toString()) as Json))
          : body,
      );
    })().catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

interface Ended {
  readonly code: number;
  readonly text: string;
}

export async function cli(target: Target, folder: string, args: readonly string[]): Promise<Ended> {
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: folder,
    XDG_CONFIG_HOME: folder,
    // A login has no token yet.
    ...(args[0] === "login" ? {} : { TENANTRY_TOKEN: target.adminToken }),
  };
  try {
    const running = run(process.execPath, [MAIN, ...args], { cwd: folder, env, timeout: 30_000, encoding: "latin1" });
    running.child.stderr?.on("data", visitPage);
    const { stdout, stderr } = await running;
    return { code: 0, text: utf8(stdout + stderr) };
  } catch (error) {
    const { code = 1, stdout = "", stderr = "" } = error as { code?: number; stdout?: string; stderr?: string };
    return { code, text: utf8(stdout + stderr) };
  }
}

/** As the person would in their browser. */
function visitPage(printed: string): void {
  const [page] = /^http:\/\/\S+\/authorize\S+/m.exec(printed) ?? [];
  if (page !== undefined) void fetch(page).catch(() => {});
}

const utf8 = (latin1: string) => Buffer.from(latin1, "latin1").toString();

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

async function planted(target: Target, root: string): Promise<Row> {
  const gaveWay: string[] = [];
  const tenant = await target.tenant();
  await target.tool(tenant, "note_write", { id: "one", title: "one", text: "one" });
  for (const [at, name] of PATHS.entries()) {
    const folder = join(root, `world-${at}`);
    const inside = join(folder, "deep/er/export");
    await mkdir(join(folder, "deep/er"), { recursive: true });
    const server = await lying(target, (path, json) => {
      if (/\/bases\//.test(path)) return { title: "planted" };
      return path.endsWith(`/tenants/${tenant}`) ? { ...json, own: { ...(json.own as Json), extends: [name] } } : json;
    });
    await cli(target, folder, ["export", tenant, "-o", inside, "--url", server.url]);
    server.stop();
    const outside = (await filesBelow(folder)).filter((file) => !file.startsWith("deep/er/export/"));
    if (outside.length > 0) gaveWay.push(`${JSON.stringify(name)} wrote ${outside[0]}`);
    const hidden = (await filesBelow(folder)).filter((file) => file.split("/").some((part) => part.startsWith(".ssh")));
    if (hidden.length > 0) gaveWay.push(`${JSON.stringify(name)} wrote ${hidden[0]}`);
  }
  return rowOf(
    "6 export writes outside its folder",
    `${PATHS.length} names of bases that lead elsewhere`,
    gaveWay,
    "nothing outside, nothing hidden",
  );
}

async function collisions(target: Target, root: string): Promise<Row> {
  const tenant = await target.tenant();
  const token = { authorization: `Bearer ${target.adminToken}`, "content-type": "text/plain" };
  const names = ["a", "a.part", "A", "a.PART", ".bashrc", "b/../a"];
  for (const name of names) {
    const uri = encodeURIComponent(`note://x/${name}`);
    await target.send(`/admin/v1/tenants/${tenant}/resources/content?uri=${uri}`, {
      method: "PUT",
      headers: token,
      body: `text of ${name}`,
    });
  }
  const out = join(root, "collisions");
  const { code } = await cli(target, root, [
    "resource",
    "get",
    tenant,
    "--prefix",
    "note://x/",
    "-o",
    out,
    "--url",
    target.origin,
  ]);
  const files = await filesBelow(out).catch(() => []);
  const wrong: string[] = [];
  for (const file of files) {
    const text = await readFile(join(out, file), "utf8");
    if (text.startsWith("text of ") && text !== `text of ${file.replace(/^.*x\//, "")}`)
      wrong.push(`${file} holds "${text.slice(0, 40)}"`);
    if (/(^|\/)\.bashrc$/.test(file)) wrong.push("a dotfile was written without --hidden");
  }
  return rowOf(
    "6 downloads collide and swap",
    `a folder of ${names.join(", ")}`,
    wrong,
    code === 0 ? `${files.length} files, each with its own text` : "refused before anything was written",
  );
}

/** Every text of every answer says something to the terminal. */
async function terminal(target: Target, root: string): Promise<Row> {
  const gaveWay: string[] = [];
  const tenant = await target.tenant({ title: "t" });
  await target.tool(tenant, "note_write", { id: "one", title: "one", text: "one" });
  await target.key(tenant);
  const steer = (value: unknown, member = ""): unknown => {
    if (typeof value === "string")
      return ["kind", "state", "created", "id", "uri"].includes(member) ? value : `${value}${STEERING}`;
    if (Array.isArray(value)) return value.map((one) => steer(one, member));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, steer(one, name)]));
  };
  const server = await lying(target, (_path, json) => steer(json) as Json);
  const commands = [
    ["tenant", "get", tenant],
    ["tenant", "list"],
    ["key", "list", tenant],
    ["resource", "list", tenant],
    ["audit", tenant],
    ["operator", "list"],
    ["tenant", "get", "no-such"],
  ];
  for (const command of commands) {
    for (const how of [[], ["--json"]]) {
      const { text } = await cli(target, root, [...command, ...how, "--url", server.url]);
      if (STEERS.test(text.replaceAll("\n", "")))
        gaveWay.push(`${[...command, ...how].join(" ")} printed ${JSON.stringify(STEERS.exec(text)?.[0])}`);
    }
  }
  server.stop();
  return rowOf(
    "6 escape sequences reach the terminal",
    `${commands.length} commands, with and without --json, every text steering`,
    gaveWay,
    "none printed",
  );
}

/** A server that names the issuer and the client of another one, at which an operator is signed in. */
async function copied(target: Target, root: string): Promise<Row> {
  const issuer = await startIssuer();
  const servers = await Promise.all([0, 1].map(() => signingIn({ issuer: issuer.name, clientId: "tenantry-cli" })));
  const [real, hostile] = servers;
  const login = (url = "") => cli(target, root, ["login", "--browser", "--yes", "--url", url]);
  const own = await login(real?.url);
  const { code } = await login(hostile?.url);
  const gaveWay = [
    ...(own.code === 0 && real?.tokens.length !== 0 ? [] : [`the login at the real server failed: ${own.text}`]),
    ...(hostile?.tokens.length === 0 ? [] : ["the hostile server has a token"]),
    ...(code === 0 ? ["the command line says that it is signed in"] : []),
  ];
  for (const server of servers) server.stop();
  await issuer.stop();
  return rowOf(
    "31 login hands a token to a hostile server",
    "a server that names issuer and client of the operator's",
    gaveWay,
    `refused, exit ${code}`,
  );
}

/** Says how operators sign in, and notes what it is sent. */
async function signingIn(login: Json): Promise<{ url: string; tokens: string[]; stop(): void }> {
  const tokens: string[] = [];
  const server = createServer(({ url, headers }, response) => {
    if (headers.authorization !== undefined) tokens.push(headers.authorization);
    const body = url === "/admin/login" ? { ...login, scopes: ["openid"] } : { items: [] };
    response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tokens, stop: () => server.close() };
}
