// One build's try: tenants of its own, a process of its own, and a time by which it is over.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Seen, Step, Task } from "../../test/client-builds/session.ts";
import { CLIENT_BUILDS, STEPS, type Build } from "./builds.ts";

const BUILD_WITHIN_MS = 120_000;
/** Of the right form, and nobody's. */
const ID_AND_SECRET = /^(.*)(.)$/s;

/** Nobody counts our tries among their users. */
const NO_TELEMETRY = {
  MCP_USE_ANONYMIZED_TELEMETRY: "false",
  MASTRA_TELEMETRY_DISABLED: "1",
  OPENAI_AGENTS_DISABLE_TRACING: "1",
  DO_NOT_TRACK: "1",
};

export interface Server {
  readonly origin: string;
  readonly adminToken: string;
}

export interface Tried {
  readonly build: Build;
  readonly cells: Readonly<Record<Step, Seen | { readonly cannot: string }>>;
}

export function isWrong(cell: Tried["cells"][Step]): cell is Seen {
  return "ok" in cell && !cell.ok;
}

export async function tryBuild(build: Build, server: Server): Promise<Tried> {
  const task = await prepare(build, server);
  const { seen, text: message } = await run(build, task);
  const cell = (step: Step): Tried["cells"][Step] => {
    const cannot = build.cannot[step];
    if (cannot !== undefined) return { cannot };
    return seen[step] ?? { ok: false, said: `it ended before: ${message}` };
  };
  return { build, cells: Object.fromEntries(STEPS.map((step) => [step, cell(step)])) as Tried["cells"] };
}

async function prepare(build: Build, server: Server): Promise<Task> {
  const ask = async (path: string, json: unknown): Promise<{ token?: string }> => {
    const response = await fetch(`${server.origin}/admin/v1${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${server.adminToken}`, "content-type": "application/json" },
      body: JSON.stringify(json),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { token?: string };
  };
  const words = build.name.match(/[a-z0-9]+/g) ?? [];
  // From the end, which tells versions apart, and as long as the name of a tenant may be.
  const base = words.join("-").slice(-30).replace(/^-/, "");
  const tenant = async (kind: string, document: unknown) => {
    const id = `${base}-${kind}`;
    await ask("/tenants", { id, document });
    return id;
  };
  const keyOf = async (id: string) => (await ask(`/tenants/${id}/keys`, { name: "a build" })).token ?? "";
  const [open, keyed, login] = await Promise.all([
    tenant("open", { mode: "open" }),
    tenant("keyed", { mode: "key" }),
    tenant("login", { mode: "oauth", auth: { login: { via: "key" } } }),
  ]);
  const [key, loginKey] = await Promise.all([keyOf(keyed), keyOf(login)]);
  const url = (id: string) => `${server.origin}/mcp/${id}`;
  return {
    build: build.installed,
    ...(build.era === undefined ? {} : { era: build.era }),
    open: url(open),
    keyed: url(keyed),
    login: url(login),
    key,
    wrongKey: key.replace(ID_AND_SECRET, (_all, most: string, last: string) => most + (last === "A" ? "B" : "A")),
    loginKey,
    steps: STEPS.filter((step) => build.cannot[step] === undefined),
  };
}

async function run(build: Build, task: Task): Promise<{ seen: Partial<Record<Step, Seen>>; text: string }> {
  const home = await mkdtemp(join(tmpdir(), "tenantry-client-build-"));
  const folder = join(CLIENT_BUILDS, build.folder);
  const child = spawn(process.execPath, ["--no-warnings", join(folder, build.driver), JSON.stringify(task)], {
    cwd: folder,
    // Nothing is found in an empty PATH that could open a browser.
    env: { HOME: home, PATH: "", ...NO_TELEMETRY },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  // The group: some builds start programs of their own.
  const end = () => endGroup(child.pid);
  const late = setTimeout(end, BUILD_WITHIN_MS);
  process.once("exit", end);
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  clearTimeout(late);
  process.off("exit", end);
  end();
  await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  return { seen: lastLine(out), text: err.trim().slice(-400) };
}

function lastLine(out: string): Partial<Record<Step, Seen>> {
  try {
    return JSON.parse(out.trim().split("\n").at(-1) ?? "") as Partial<Record<Step, Seen>>;
  } catch {
    return {};
  }
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nobody is left in it.
  }
}
