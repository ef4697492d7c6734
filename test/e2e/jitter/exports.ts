// The check of exports: a tenant that is written to all the time is exported by the command line, to its end, and every
// file has what its resource had at some time while it was exported.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { CommandLine } from "../../support/command-line.ts";
import { ADMIN_TOKEN } from "../../support/worker-pair.ts";
import { sized } from "../../support/tier.ts";
import { makeTenant, type Check, type Played, type Scene } from "./check.ts";
import { isUnknown } from "./unreliable-workers.ts";

const RESOURCES = sized({ usual: 8, long: 12 });
const ENDS_WITHIN_MS = 60_000;
/** What a Worker that is killed meanwhile, or away, is to the command line: run it again. */
const UNREACHABLE = 6;

const uriOf = (at: number) => `lab://exported/${at}`;
const ALL = Array.from({ length: RESOURCES }, (_none, at) => at);

interface Written {
  /** By resource: the newest number that was acknowledged. */
  readonly acknowledged: number[];
  /** By resource: the newest number that was sent. */
  readonly begun: number[];
}

/**
 * Writers have resources of their own, because of two writes at a time either may be the last. A write
 * of which nobody knows what came may yet be done, so nothing is written to that resource after it.
 */
async function writeUntil(
  { workers, draws, tag }: Scene,
  { written, resources }: { readonly written: Written; readonly resources: readonly number[] },
  isOver: () => boolean,
): Promise<void> {
  const own = draws.fork();
  const open = new Set(resources);
  while (!isOver() && open.size > 0) {
    const at = own.pick([...open]);
    const value = (written.begun[at] = (written.begun[at] ?? 0) + 1);
    const path = `/tenants/${tag}/resources/content?uri=${encodeURIComponent(uriOf(at))}`;
    const answer = await workers.ask(own.below(2), "PUT", path, { plain: String(value) });
    if (isUnknown(answer)) open.delete(at);
    else written.acknowledged[at] = value;
    await pause(own.below(20));
  }
}

async function exported({ workers, tag }: Scene, folder: string, least: () => readonly number[]) {
  const out = join(folder, tag);
  for (const until = Date.now() + ENDS_WITHIN_MS; Date.now() < until; await pause(300)) {
    const known = [...least()];
    const env = { HOME: folder, TENANTRY_URL: workers.origin(0), TENANTRY_TOKEN: ADMIN_TOKEN };
    const signal = AbortSignal.timeout(until - Date.now());
    const ended = await new CommandLine(folder, env).run(["export", tag, "-o", out], { signal });
    if (ended.exit !== UNREACHABLE) return { ...ended, known, out };
  }
  return undefined;
}

async function valuesIn(out: string): Promise<ReadonlyMap<string, number>> {
  const index = await readFile(join(out, "resources.ndjson"), "utf8");
  const entries = index
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { uri: string; file: string });
  return new Map(
    await Promise.all(
      entries.map(async ({ uri, file }) => [uri, Number(await readFile(join(out, file), "utf8"))] as const),
    ),
  );
}

async function play(scene: Scene): Promise<Played> {
  const { tag, workers } = scene;
  await makeTenant(scene, tag);
  const written: Written = { acknowledged: [], begun: [] };
  for (const at of ALL) {
    await workers.insist("PUT", `/tenants/${tag}/resources/content?uri=${encodeURIComponent(uriOf(at))}`, {
      plain: "0",
    });
    written.acknowledged[at] = written.begun[at] = 0;
  }
  const folder = await mkdtemp(join(tmpdir(), "tenantry-exports-"));
  try {
    let isOver = false;
    const done = await scene.stormy(async () => {
      const writing = [0, 1].map((writer) =>
        writeUntil(scene, { written, resources: ALL.filter((at) => at % 2 === writer) }, () => isOver),
      );
      try {
        return await exported(scene, folder, () => written.acknowledged);
      } finally {
        isOver = true;
        await Promise.all(writing);
      }
    });
    const operations = written.begun.reduce((sum, count) => sum + count, RESOURCES);
    if (!done) return { operations, violations: [`the export did not end in ${ENDS_WITHIN_MS} ms`] };
    const { exit, stderr, known, out } = done;
    if (exit !== 0) return { operations, violations: [`the export ended with ${exit}: ${stderr.slice(-300)}`] };
    const values = await valuesIn(out);
    const violations = ALL.flatMap((at) => {
      const value = values.get(uriOf(at)) ?? -1;
      const isRight = value >= (known[at] ?? 0) && value <= (written.begun[at] ?? 0);
      return isRight ? [] : [`${uriOf(at)} was exported as ${value} when ${known[at]} was acknowledged before`];
    });
    return { operations, violations };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export const exports: Check = {
  name: "exports",
  claim: "an export of a tenant that is written to ends, with what was there meanwhile",
  play,
};
