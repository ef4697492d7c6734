// Builds of others' clients, each at its pinned version, tried on a running `npm start`.

import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Application, startApplication } from "../test/support/application.ts";
import { installPackages } from "../test/support/install-packages.ts";
import { allBuilds, CLIENT_BUILDS, FOLDERS, STEPS, type Build } from "./clients/builds.ts";
import { triedPage } from "./clients/page.ts";
import { isWrong, tryBuild, type Tried } from "./clients/try-build.ts";
import { optionError, scriptOptions } from "./script-options.ts";

const ROOT = join(import.meta.dirname, "..");
const PAGE = join(ROOT, "docs/clients-tried.md");
const LANES = 2;

const { only, write } = scriptOptions(
  `npm run clients [-- --only TEXT]... [--write]

Tries 53 builds of others' clients on a running \`npm start\` and prints a table. 3 minutes. Fails where a cell is wrong.

  --only TEXT  only the builds whose name contains TEXT
  --write      write docs/clients-tried.md if no cell is wrong`,
  { only: { type: "string", multiple: true }, write: { type: "boolean", default: false } },
);
const builds = allBuilds().filter(({ name }) => only === undefined || only.some((part) => name.includes(part)));
if (builds.length === 0) {
  const names = allBuilds().map(({ name }) => name);
  optionError(`--only must be a part of one of: ${names.join(", ")}`);
}
if (write && only !== undefined) optionError("--write needs all builds: leave out --only");

const begun = performance.now();
const secondsSince = () => Math.round((performance.now() - begun) / 1000);
// What is optional there is bundlers and runtimes, of 300 MB.
for (const folder of FOLDERS) await installPackages(join(CLIENT_BUILDS, folder), ["--omit=optional"]);
console.log(`Installed after ${secondsSince()} s\n`);

const folder = await mkdtemp(join(tmpdir(), "tenantry-clients-"));
let application: Application | undefined;
try {
  application = await startApplication(join(folder, "state"));
  const tried = await tryAll(application);
  const wrong = tried.flatMap(({ build, cells }) =>
    STEPS.flatMap((step) => {
      const cell = cells[step];
      return isWrong(cell) ? [`${build.name}: ${step}: ${cell.said}`] : [];
    }),
  );
  if (write && wrong.length === 0) await writePage(tried);
  console.log(wrong.length === 0 ? "" : `\n${wrong.join("\n")}`);
  const cells = tried.length * STEPS.length;
  const cannot = tried.flatMap((one) => Object.values(one.cells)).filter((cell) => "cannot" in cell).length;
  console.log(
    `${tried.length} builds in ${secondsSince()} s; ${cannot} cells are beyond a client: docs/clients-tried.md`,
  );
  console.log(`${cells - cannot - wrong.length} passed, ${wrong.length} failed`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
} finally {
  await application?.stop().catch(() => application?.kill());
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

async function tryAll(server: Application): Promise<readonly Tried[]> {
  console.log(row("", STEPS));
  const tried = new Map<Build, Tried>();
  const waiting = [...builds];
  const lanes = Array.from({ length: LANES }, async () => {
    for (let build = waiting.shift(); build; build = waiting.shift()) {
      const one = await tryBuild(build, server);
      tried.set(build, one);
      const cells = STEPS.map((step) => marked(one.cells[step]));
      console.log(row(build.name, cells));
    }
  });
  await Promise.all(lanes);
  return builds.flatMap((build) => tried.get(build) ?? []);
}

function marked(cell: Tried["cells"][keyof Tried["cells"]]): string {
  if (isWrong(cell)) return "WRONG";
  return "cannot" in cell ? "-" : "ok";
}

function row(name: string, cells: readonly string[]): string {
  return [name.padEnd(46), ...cells.map((cell, at) => cell.padEnd((STEPS[at] ?? "").length))].join(" ");
}

async function writePage(tried: readonly Tried[]): Promise<void> {
  await writeFile(PAGE, triedPage(tried));
  spawnSync(join(ROOT, "node_modules/.bin/oxfmt"), [PAGE], { cwd: ROOT, stdio: "inherit" });
}
