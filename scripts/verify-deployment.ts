import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { scriptOptions } from "./script-options.ts";
import { verify } from "./verify-deployment/checks.ts";
import { cloudflareTarget } from "./verify-deployment/cloudflare.ts";
import { localTarget } from "./verify-deployment/local.ts";
import type { Outcome } from "./verify-deployment/target.ts";

const values = scriptOptions(
  `npx node scripts/verify-deployment.ts [--local] [--worker FILE] [--next FILE] [--config FILE] [--keep]

Deploys the Worker to your Cloudflare account under a new name, twice with a migration between, rolls back, revokes a key,
reads start-up time and the bill's counters, and deletes everything that it created. Some minutes; 2 minutes with --local.

  --local         in workerd on this machine, without an account
  --worker FILE   the Worker, else src/worker.ts
  --next FILE     the release after it, else the same Worker
  --config FILE   its configuration, else wrangler.toml
  --keep          leave the Worker and its KV namespace in the account

Needs \`npx wrangler login\` or CLOUDFLARE_API_TOKEN; for the counters CLOUDFLARE_ACCOUNT_ID and a token with "Account Analytics: Read".`,
  {
    local: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    worker: { type: "string", default: "src/worker.ts" },
    next: { type: "string" },
    config: { type: "string", default: "wrangler.toml" },
  },
);

const MARKS = { passed: "ok     ", failed: "FAILED ", skipped: "skipped" };

function print({ check, result, detail }: Outcome): void {
  console.log(`${MARKS[result]}  ${check}: ${detail}`);
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tenantry-verify-"));
  const worker = resolve(values.worker);
  const options = { folder, worker, next: resolve(values.next ?? worker), config: resolve(values.config) };
  const target = values.local ? localTarget(options) : await cloudflareTarget(options);
  console.log(`Verifying ${values.worker} on ${target.name}.`);
  const interrupted = () => void target.cleanUp().finally(() => process.exit(130));
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  try {
    const outcomes = await verify(target, print);
    const failed = outcomes.filter(({ result }) => result === "failed").length;
    const skipped = outcomes.filter(({ result }) => result === "skipped").length;
    console.log(`${outcomes.length - failed - skipped} passed, ${failed} failed, ${skipped} skipped`);
    if (failed > 0) process.exitCode = 1;
  } finally {
    if (!values.keep) await target.cleanUp();
    await rm(folder, { recursive: true, force: true });
  }
}

try {
  await main();
} catch (error) {
  console.error(`verify-deployment: ${(error as Error).message}`);
  process.exitCode = 1;
}
