// The servers of test/foreign/python: real ones, in a Python that an environment variable names or that pip makes,
// where there is one with the packages; else stand-ins that answer what was recorded.

import { execFile, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../../../scripts/fixture-server.ts";
import { startServerProcess, stopProcess } from "../../support/server-process.ts";
import type { Era } from "./server-requests.ts";
import { recordServer, recordSse, type Recording } from "./recording.ts";
import { StandIn } from "./stand-in.ts";

export const PYTHON = join(import.meta.dirname, "../../foreign/python");
const LISTENS_WITHIN_MS = 60_000;
const INSTALLS_WITHIN_MS = 300_000;

/** What a program of that folder needs, by its name; `variable` names an interpreter that has it. */
const PROGRAMS = {
  sdk_1: { variable: "PYTHON_MCP_1", package: "mcp" },
  sdk_2: { variable: "PYTHON_MCP_2", package: "mcp" },
  fastmcp_4: { variable: "FASTMCP_4", package: "fastmcp" },
} as const;
export type Program = keyof typeof PROGRAMS;

export interface PythonKind {
  readonly program: Program;
  readonly way?: "stateless" | "sse" | "falls";
  readonly eras: readonly Era[];
}

export interface PythonServer {
  readonly url: string;
  /** At the same URL, with none of its sessions. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const run = promisify(execFile);

const found = new Map<Program, Promise<string | undefined>>();

/** Where the packages of a program are. Tells on the console where that is nowhere. */
export function interpreterOf(program: Program): Promise<string | undefined> {
  const known = found.get(program) ?? findInterpreter(program);
  found.set(program, known);
  return known;
}

async function findInterpreter(program: Program): Promise<string | undefined> {
  const { variable, package: name } = PROGRAMS[program];
  try {
    const python = process.env[variable] ?? (await installed(program));
    await run(python, ["-c", `import importlib.metadata as m; m.version("${name}")`]);
    return python;
  } catch (error) {
    // Whoever names one means it.
    if (process.env[variable] !== undefined) throw error;
    console.log(`${program}: a stand-in, since no Python has it (${String(error).trim().split("\n").at(-1)})`);
    return undefined;
  }
}

/** What `NAME.txt` there names, in a virtual environment that is kept. */
async function installed(program: Program): Promise<string> {
  const folder = join(PYTHON, ".venv", program);
  const python = join(folder, "bin/python");
  const wanted = await readFile(join(PYTHON, `${program}.txt`), "utf8");
  const mark = join(folder, "installed.txt");
  if ((await readFile(mark, "utf8").catch(() => "")) === wanted) return python;
  await rm(folder, { recursive: true, force: true });
  const limits = { timeout: INSTALLS_WITHIN_MS };
  await run("python3", ["-m", "venv", folder], limits);
  const args = ["-m", "pip", "install", "--quiet", "--retries", "0", "--timeout", "15", "-r", `${program}.txt`];
  await run(python, args, { ...limits, cwd: PYTHON });
  await writeFile(mark, wanted);
  return python;
}

export const recordingFile = ({ program, way }: PythonKind) =>
  join(PYTHON, "recorded", `${program}${way === undefined ? "" : `-${way}`}.json`);

export async function startStandIn(kind: PythonKind): Promise<PythonServer> {
  return new StandIn(JSON.parse(readFileSync(recordingFile(kind), "utf8")) as Recording).start();
}

export async function startReal(kind: PythonKind, python: string): Promise<PythonServer> {
  const port = await freePort();
  let child = await startProcess(python, kind, port);
  return {
    url: `http://127.0.0.1:${port}/${kind.way === "sse" ? "sse" : "mcp"}`,
    restart: async () => {
      await stopProcess(child);
      child = await startProcess(python, kind, port);
    },
    stop: () => stopProcess(child),
  };
}

function startProcess(python: string, { program, way }: PythonKind, port: number): Promise<ChildProcess> {
  return startServerProcess({
    command: python,
    args: [`${program}.py`, ...(way === undefined ? [] : [way])],
    cwd: PYTHON,
    // Sets are in the same order each time.
    env: { PYTHONDONTWRITEBYTECODE: "1", PYTHONHASHSEED: "0" },
    port,
    withinMs: LISTENS_WITHIN_MS,
  });
}

export function record(kind: PythonKind, { url }: PythonServer): Promise<Recording> {
  if (kind.way === "sse") return recordSse(url);
  const { way, eras } = kind;
  return recordServer({ url, eras, isStateless: way === "stateless", falls: way === "falls" });
}
