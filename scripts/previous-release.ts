// Makes test/fixtures/previous-release.js.gz: the fixture Worker of an earlier commit, as `wrangler deploy` would upload it, which
// runs beside this one in test/e2e/two-releases.test.ts. Argument: the commit; run it when a release is made.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const ROOT = join(import.meta.dirname, "..");
const FIXTURE = join(ROOT, "test/fixtures/previous-release.js.gz");

const [commit] = process.argv.slice(2);
if (commit === undefined) throw new Error("Usage: previous-release.ts COMMIT");
const folder = mkdtempSync(join(tmpdir(), "tenantry-previous-"));
try {
  const archive = execFileSync("git", ["archive", commit], { cwd: ROOT, maxBuffer: 2 ** 30 });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const bundle = join(folder, "worker.js");
  const { NODE_ENV: _, ...env } = process.env;
  const args = ["wrangler", "deploy", "test/fixtures/worker.ts", "--dry-run", "--minify", "--outdir", folder];
  execFileSync("npx", args, { cwd: folder, env });
  const code = readFileSync(bundle, "utf8").replace(/\/\/# sourceMappingURL=.*\n$/, "");
  writeFileSync(FIXTURE, gzipSync(`// Commit ${commit}.\n${code}`, { level: 9 }));
} finally {
  rmSync(folder, { recursive: true });
}
