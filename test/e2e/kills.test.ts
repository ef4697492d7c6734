// A Worker is killed with SIGKILL and comes back at the same port as the other of two releases, over and over, while official
// clients listen and call and an operator changes what they listen to: nothing acknowledged is lost, no result comes twice, and
// every stream hears again within 10 s. Rounds draw from a seed, which is said with what went wrong.

import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { installForeign } from "../support/foreign-servers.ts";
import type { Caller, Patience } from "./kills/calls.ts";
import { KINDS } from "./kills/clients.ts";
import { BEAT, type Figures, newFigures, PAGES, Rounds } from "./kills/rounds.ts";
import { Watcher } from "./kills/watcher.ts";
import { RestartingWorker } from "./kills/restarting-worker.ts";
import { SEED } from "../support/seed.ts";
import { sized } from "../support/tier.ts";

const KILLS = sized({ usual: 2, long: 8, soak: 50 });
const STREAMS: Readonly<Record<keyof typeof KINDS, number>> = {
  "v1, GET": sized({ usual: 4, long: 70 }),
  "v2, GET": sized({ usual: 4, long: 50 }),
  "v2, listen": sized({ usual: 4, long: 66 }),
  "v1, HTTP+SSE": sized({ usual: 2, long: 8 }),
  "mcp-remote": sized({ usual: 0, long: 6 }),
};
const SIZES = { callsOfAKind: sized({ usual: 2, long: 4 }), paying: sized({ usual: 2, long: 6 }) };
const TENANT = "killed";
/** For so long a withdrawal waits. */
const LEASE_MS = 1000;

async function connectAll(worker: RestartingWorker): Promise<readonly Caller[]> {
  const { token } = await worker.json("POST", `/tenants/${TENANT}/keys`, { name: "killed" });
  const callers: Caller[] = [];
  for (const [name, count] of Object.entries(STREAMS)) {
    const kind = KINDS[name as keyof typeof KINDS];
    const made = Array.from({ length: count }, async (_none, at): Promise<Caller> => {
      const patience: Patience = { until: Promise.resolve(), asked: () => {} };
      const ask = async () => {
        patience.asked();
        await patience.until;
      };
      const person = { onQuestion: ask };
      const key = at % 2 === 0 ? {} : { key: String(token) };
      // It gives up for ever when it is refused twice, a second apart.
      const origin = name === "mcp-remote" ? worker.edge : worker.origin;
      const connected = await kind.connect({ url: `${origin}/mcp/${TENANT}`, person, ...key });
      const watcher = new Watcher(connected, [BEAT, PAGES[at % 8], PAGES[(at + 3) % 8]] as string[]);
      onTestFinished(() => watcher.end());
      await watcher.begin();
      return { watcher, patience, resumes: kind.resumes, isAsked: name !== "mcp-remote" };
    });
    callers.push(...(await Promise.all(made)));
  }
  return callers;
}

function report({ gaps, calls, away, ...counts }: Figures): string {
  const quantile = (of: readonly number[], part: number) =>
    of.toSorted((a, b) => a - b)[Math.ceil(of.length * part) - 1];
  const lines = [
    `${KILLS} kills, load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} processors; nobody answered for ${quantile(away, 0.5)} ms, ${quantile(away, 1)} ms at most`,
    `writes: ${counts.acknowledged} acknowledged, ${counts.cutOff} cut off; withdrawn or given back: ${counts.withdrawals}`,
    "streams\tcount\tgap p50\tp95\tmax (ms)",
    ...[...gaps].map(([kind, of]) =>
      [kind, of.length / KILLS, quantile(of, 0.5), quantile(of, 0.95), quantile(of, 1)].join("\t"),
    ),
    "calls\tbegun\tanswered\trefused",
    ...[...calls].map(([name, { begun, answered, refused }]) => [name, begun, answered, refused].join("\t")),
    `sent again over HTTP+SSE, and dropped by its client: ${counts.sentAgain}`,
    `violations: ${counts.violations.length}`,
  ];
  return `${lines.join("\n")}\n`;
}

test(`${KILLS} kills, with two releases taking turns, lose nothing and answer nothing twice`, async () => {
  if (STREAMS["mcp-remote"] > 0) await installForeign();
  const storage = await mkdtemp(join(tmpdir(), "tenantry-kills-"));
  const worker = await RestartingWorker.begin(storage);
  onTestFinished(async () => {
    await worker.end();
    await rm(storage, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  });
  const document = { mode: "open", maxStalenessMs: LEASE_MS };
  await worker.json("POST", "/tenants", { id: TENANT, document });
  const figures = newFigures();
  const rounds = new Rounds(worker, TENANT, figures, SEED.seed);
  await rounds.writeAll();
  const callers = await connectAll(worker);
  for (let kill = 1; kill <= KILLS; kill += 1) await rounds.play(callers, kill, SIZES);
  process.stdout.write(report(figures));
  expect(figures.violations).toEqual([]);
}, 3_600_000);
