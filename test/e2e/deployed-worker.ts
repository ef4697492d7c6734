// What `wrangler deploy` would upload of this repository's Worker, built once for all files that look at it.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { oncePerRun } from "../support/once-per-run.ts";

const ROOT = join(import.meta.dirname, "../..");
const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");

/** On a machine that is busy a build has a part of a core. */
export const BUILD_MS = 600_000;

/** `mode`: what NODE_ENV of the shell says. The folder with `worker.js` and what else is uploaded; throws what wrangler said where it did not succeed. */
export function deployedFolder(mode?: "development"): Promise<string> {
  return oncePerRun(`deployed-${mode}`, async (folder) => {
    // Not what vitest says of itself.
    const { NODE_ENV: _ofVitest, ...ours } = process.env;
    const given = mode === undefined ? {} : { NODE_ENV: mode };
    const options = { cwd: ROOT, env: { ...ours, ...given, WRANGLER_SEND_METRICS: "false" } };
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [WRANGLER, "deploy", "--dry-run", "--outdir", folder],
      options,
    );
    if (!stdout.includes("--dry-run: exiting now")) throw new Error(stdout);
  });
}
