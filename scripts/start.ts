// `npm start`: the application on this machine, with storage that survives a restart. Arguments go to `wrangler dev`
// and take the place of the defaults below. Asks nothing of the network.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmdirSync } from "node:fs";
import { connect } from "node:net";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import {
  DEFAULT_PORT,
  developmentOptions,
  developmentSecrets,
  WRANGLER_ENVIRONMENT,
  LOCAL_VARS,
  loadOrCreateSecretsKey,
  probeServer,
  type ServerStatus,
} from "../src/cli/local/development.ts";
import { deleteEnvFile, writeEnvFile } from "../src/cli/local/env-file.ts";
import { lockFolder, type FolderLock } from "../src/cli/local/folder-lock.ts";
import { deleteDevelopmentToken, writeDevelopmentToken } from "../src/cli/local/token-file.ts";

const STATE = ".wrangler/state";
const READY_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 250;

const OURS = ["port", "persist-to", "config", "env", "env-file"];
const HELP = `npm start -- [--port N] [--persist-to FOLDER] [options of wrangler dev]

Serves the demo on this machine; asks nothing of the network.

  --port N              another port than ${DEFAULT_PORT}
  --persist-to FOLDER   the folder of stored data, else ${STATE}
  --config FILE         another Wrangler configuration, without the demo
  --env NAME            an environment of the configuration
  --env-file FILE       variables and secrets, instead of generated ones

npx wrangler dev --help lists the rest.`;

const args = process.argv.slice(2);
// Not strict: what wrangler knows and we do not is wrangler's to judge.
const { values: given } = parseArgs({
  args,
  strict: false,
  options: {
    port: { type: "string" },
    config: { type: "string", short: "c" },
    env: { type: "string", short: "e" },
    "env-file": { type: "string" },
    "persist-to": { type: "string" },
  },
});
if (args.includes("--help") || args.includes("-h")) {
  console.log(HELP);
  process.exit(0);
}
// npm keeps an option before `--` for itself and passes its value on. Any other first word is an entry for wrangler.
const [first = ""] = args;
if (/^\d+$/.test(first)) fail(`${first}: unexpected; options come after --: npm start -- --port ${first}`);
const bare = Object.keys(given).find((name) => OURS.includes(name) && given[name] === true);
if (bare !== undefined) fail(`--${bare}: the value is missing; npm start -- --help lists the options`);
const port = textOf("port") ?? DEFAULT_PORT;
if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) fail(`--port ${port}: must be a number up to 65535`);
const url = `http://localhost:${port}/mcp/demo`;

const envFile = {
  project: dirname(textOf("config") ?? "wrangler.toml"),
  port,
  environment: textOf("env"),
  hasOwnFiles: given["env-file"] !== undefined,
};
const lock = lockOrFail(textOf("persist-to") ?? STATE);
let isStarted = false;
process.on("exit", () => {
  if (!isStarted) lock.release();
});

// Looked at before wrangler is started, because afterwards the other server would answer in our place.
if (await isTaken(Number(port))) fail(`Port ${port} is in use. Choose another one: npm start -- --port 9000`);

const adminToken = await writeDevelopmentToken(".", port, true);
const secretsKey = await loadOrCreateSecretsKey(".wrangler/development-secrets-key");
const envFiles = await writeEnvFile(envFile, developmentSecrets(adminToken, secretsKey));
const child = spawn(
  "wrangler",
  [
    "dev",
    ...Object.entries(developmentOptions(DEFAULT_PORT, STATE))
      .filter(([name]) => given[name] === undefined)
      .map(([name, value]) => `--${name}=${value}`),
    ...LOCAL_VARS,
    ...args,
    ...envFiles,
  ],
  {
    stdio: "inherit",
    env: { ...process.env, ...WRANGLER_ENVIRONMENT },
  },
);
isStarted = true;
if (child.pid !== undefined) lock.share(child.pid);
process.on("exit", () => {
  deleteEnvFile(envFile);
  deleteDevelopmentToken(".", port);
  dropEmpty(".wrangler/tmp");
  // What still runs still writes, and the lock is nobody's as soon as it has ended.
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) lock.release();
  else child.kill();
});
child.on("exit", (code) => process.exit(code ?? 0));
child.on("error", (error) => fail(`wrangler could not be started (${error.message}); run npm ci first`));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
stopWithNpm();

const { error: fault } = await untilStarted();
if (fault !== undefined) {
  console.error(
    `\n  This Worker cannot serve yet. Until you correct the mistake, it answers every request with:\n  ${fault}`,
  );
}
console.log(
  `\n  MCP endpoint   ${url}\n  In a browser   the same URL shows how to connect\n  Admin token    ${adminToken}\n  Command line   npm run -s tenantry -- help\n  Stop           Ctrl+C\n`,
);

async function untilStarted(): Promise<ServerStatus> {
  const deadline = Date.now() + READY_WITHIN_MS;
  for (;;) {
    const started = await probeServer(url);
    if (started !== undefined) return started;
    if (Date.now() > deadline) fail(`The Worker did not answer at ${url} within ${READY_WITHIN_MS / 1000} s`);
    await new Promise((looked) => setTimeout(looked, LOOK_EVERY_MS));
  }
}

/** wrangler makes it in the folder that it was started in, and leaves it where an entry was named to it. */
function dropEmpty(leftBehind: string): void {
  try {
    rmdirSync(leftBehind);
  } catch {
    // Somebody else's is in it, or there is none.
  }
}

function textOf(name: string): string | undefined {
  const value = given[name];
  return typeof value === "string" ? value : undefined;
}

/** npm passes SIGTERM to the shell between us and itself, which ends without telling us. */
function stopWithNpm(): void {
  if (process.env["npm_lifecycle_event"] === undefined) return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) child.kill("SIGTERM");
  }, LOOK_EVERY_MS).unref();
}

function lockOrFail(folder: string): FolderLock {
  try {
    return lockFolder(folder, { port, option: "--persist-to" });
  } catch (error) {
    return fail((error as Error).message);
  }
}

async function isTaken(wanted: number): Promise<boolean> {
  const socket = connect({ port: wanted, host: "localhost" });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
