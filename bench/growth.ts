// How CPU time grows with what there is, dimension by dimension, next to how it should grow.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scriptOptions } from "../scripts/script-options.ts";
import { DIMENSIONS, type Cost, type Dimension } from "./growth-dimensions.ts";
import { machine } from "./machine.ts";
import { cpuMicros, spread } from "./measure.ts";
import { bindingsOf, bundle, ROOT, start } from "./runtime.ts";
import { ADMIN_TOKEN } from "./scenarios.ts";

/** How often a request is measured in a round: where a change precedes each, and where it is sent again and again. */
const ONE_BY_ONE = 4;
const IN_A_ROW = 40;

const { quick, only } = scriptOptions(
  `npx node bench/growth.ts [--quick] [--only NAME]

Measures how CPU time grows with what there is, and prints a table in Markdown. It judges nothing. 10 to 20 minutes.

  --quick      smaller sizes, fewer rounds; 5 minutes
  --only NAME  only the dimensions whose name contains NAME:
               ${DIMENSIONS.map(({ name }) => name).join(", ")}`,
  { quick: { type: "boolean", default: false }, only: { type: "string", default: "" } },
);
await main(DIMENSIONS.filter(({ name }) => name.includes(only)));

async function main(dimensions: readonly Dimension[]): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), "tenantry-growth-"));
  try {
    print(`${JSON.stringify(machine())}\n`);
    print("| grows | request | sizes | CPU ms | slope | expected |\n| --- | --- | --- | --- | --- | --- |");
    for (const one of dimensions) for (const line of await measured(one, scratch)) print(line);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Each has a workerd of its own, with all of its sizes in it: what they hold costs them alike. */
async function measured(dimension: Dimension, scratch: string): Promise<string[]> {
  const vars = { ADMIN_TOKEN, OUTBOUND_LOCAL: "http://127.0.0.1" };
  const running = await start(await bundle("workers/growth.ts", scratch), { ...bindingsOf(ROOT), vars });
  const sizes = (quick ? dimension.quick : undefined) ?? dimension.sizes;
  try {
    const costs: (readonly Cost[])[] = [];
    for (const size of sizes) costs.push(await dimension.prepare(running.url, size));
    const found = costs.map((all) => all.map((cost) => ({ cost, millis: [] as number[] })));
    const rounds = quick ? 3 : 7;
    for (let round = 0; round <= rounds; round += 1) {
      for (const one of found.flat()) one.millis.push(await costOf(one.cost, running.pid));
    }
    for (const cost of costs.flat()) cost.end?.();
    // The first round compiles what it meets.
    const medians = found.map((all) => all.map(({ millis }) => spread(millis.slice(1)).median));
    return (costs[0] ?? []).map((cost, which) => {
      const millis = medians.map((all) => all[which] ?? Number.NaN);
      return lineOf(dimension.name, cost, sizes, millis);
    });
  } finally {
    await running.stop();
  }
}

/** Milliseconds of CPU for one request. */
async function costOf({ before, run, times = before ? ONE_BY_ONE : IN_A_ROW }: Cost, pid: number): Promise<number> {
  let micros = 0;
  for (let left = times; left > 0; left -= before ? 1 : times) {
    await before?.();
    const from = cpuMicros(pid);
    for (let at = before ? 1 : times; at > 0; at -= 1) await run();
    micros += cpuMicros(pid) - from;
  }
  return micros / times / 1000;
}

function lineOf(
  name: string,
  { request, expected }: Cost,
  sizes: readonly number[],
  millis: readonly number[],
): string {
  const [size = 1, before = 1, last = 1] = [sizes.at(-1), sizes.at(-2), millis.at(-1)];
  const slope = Math.log(last / (millis.at(-2) ?? last)) / Math.log(size / before);
  const cells = [
    name,
    request,
    sizes.map((one) => one.toLocaleString("en")).join(" / "),
    millis.map((one) => one.toFixed(one < 10 ? 1 : 0)).join(" / "),
    slope.toFixed(2),
    expected,
  ];
  return `| ${cells.join(" | ")} |`;
}
