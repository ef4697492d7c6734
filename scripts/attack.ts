// Attacks on a running `npm start`, by black box.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Application, startApplication } from "../test/support/application.ts";
import { ATTACKS } from "./attack/all-attacks.ts";
import { startPeer, type Peer } from "./attack/peer.ts";
import { CONSOLE } from "./attack/bad-intent.ts";
import { tableHead, tableRow, type Attack, type Row } from "./attack/report.ts";
import { Target } from "./attack/target.ts";
import { seedOfRun } from "./attack/upstreams/draw.ts";
import { optionError, scriptOptions } from "./script-options.ts";

const LANES = 3;
const seed = seedOfRun();

const values = scriptOptions(
  `npm run attack [-- --only NAME]... [--url URL --token TOKEN]

Attacks a running Worker by black box and prints a table. 4 minutes. Fails where an attack gets through or cannot be tried.

  --only NAME    only these attacks
  --url URL      a Worker that already runs, in place of \`npm start\`
  --token TOKEN  its owner's token

SEED=N repeats what a run drew.`,
  { url: { type: "string" }, token: { type: "string" }, only: { type: "string", multiple: true } },
);
const attacks = ATTACKS.filter(({ name }) => values.only === undefined || values.only.includes(name));
if (attacks.length === 0) optionError(`--only must be one of: ${ATTACKS.map(({ name }) => name).join(", ")}`);
if (values.url !== undefined && values.token === undefined) optionError("--url needs --token, the token of an owner");

const folder = await mkdtemp(join(tmpdir(), "tenantry-attack-"));
const applications: Application[] = [];
const begun = performance.now();
let peer: Peer | undefined;
try {
  peer = await startPeer();
  const target = values.url === undefined ? await startTarget(peer) : givenTarget(values.url, values.token ?? "", peer);
  const rows = await runAll(target);
  const breaches = rows.filter(({ isBreach }) => isBreach);
  const seconds = Math.round((performance.now() - begun) / 1000);
  // Whoever reads only the end of a long log finds them there.
  if (breaches.length > 0) console.log(["", ...breaches.map((row) => tableRow(row))].join("\n"));
  console.log(`\n${rows.length} rows, ${breaches.length} breaches, ${seconds} s`);
  process.exitCode = breaches.length === 0 ? 0 : 1;
} finally {
  await Promise.all(applications.map((application) => application.stop().catch(() => application.kill())));
  await peer?.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

/** The application, and beside it the Worker of the tests, whose tools ask and fetch. */
async function startTarget(beside: Peer): Promise<Target> {
  const start = async (storage: string, more: readonly string[] = []) => {
    const application = await startApplication(join(folder, storage), undefined, more);
    applications.push(application);
    return application;
  };
  const [main, lab] = await Promise.all([
    start("state", ["--var=ADMIN_TOKEN:password"]),
    start("lab", [
      "--config=test/fixtures/wrangler.toml",
      `--var=OUTBOUND_RESOLVER:${beside.resolver}`,
      "--var=TENANT_HOST:mcp.test",
      `--var=HOSTS:localhost,127.0.0.1,[::1],${CONSOLE}`,
    ]),
  ]);
  return new Target({
    ...main,
    storage: join(folder, "state"),
    peer: beside,
    seed,
    lab: new Target({ ...lab, peer: beside, seed }),
  });
}

function givenTarget(url: string, token: string, beside: Peer): Target {
  return new Target({ origin: new URL(url).origin, adminToken: token, peer: beside, seed });
}

async function runAll(target: Target): Promise<readonly Row[]> {
  console.log(`Drawn from seed ${seed}; the same again: SEED=${seed} npm run attack\n`);
  console.log(tableHead());
  const rows: Row[] = [];
  const make = async (attack: Attack) => {
    const found = await tried(attack, target);
    for (const row of found) console.log(tableRow(row));
    rows.push(...found);
  };
  // Most of what they do is to wait for leases to end.
  const together = attacks.filter(({ isAlone }) => isAlone !== true);
  const lanes = Array.from({ length: LANES }, async () => {
    for (let next = together.shift(); next; next = together.shift()) await make(next);
  });
  await Promise.all(lanes);
  for (const attack of attacks.filter(({ isAlone }) => isAlone === true)) await make(attack);
  return rows;
}

async function tried(attack: Attack, target: Target): Promise<readonly Row[]> {
  try {
    return await attack.run(target);
  } catch (error) {
    const seen =
      error instanceof Error
        ? `${error.message} ${/scripts\/attack\/[\w-]+\.ts:\d+/.exec(error.stack ?? "")?.[0] ?? ""}`
        : String(error);
    return [{ finding: attack.name, tried: "the attack could not be made", seen, isBreach: true }];
  }
}
