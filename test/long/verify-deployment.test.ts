// What `node scripts/verify-deployment.ts --local` says of the Worker, and of one with four faults.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const FIXTURES = join(ROOT, "test/fixtures");
const RUN_MS = 300_000;

async function verify(...args: readonly string[]): Promise<{ readonly output: string; readonly code: number | null }> {
  const child = spawn(process.execPath, ["scripts/verify-deployment.ts", "--local", ...args], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { output, code };
}

test(
  "the Worker of this checkout passes every check",
  async () => {
    const { output, code } = await verify();
    expect(output).toContain("8 passed, 0 failed, 0 skipped");
    expect(code).toBe(0);
  },
  RUN_MS,
);

test(
  "a class that the configuration forgets is found, and nothing else is tried",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "tenantry-forgotten-"));
    try {
      const config = join(folder, "wrangler.toml");
      const toml = await readFile(join(ROOT, "wrangler.toml"), "utf8");
      await writeFile(config, toml.replace(/\s*"HubObject",/, ""));
      const { output, code } = await verify(`--config=${config}`);
      expect(output).toMatch(/FAILED +first release answers: [^]*does not list HubObject/);
      expect(output).toContain("0 passed, 1 failed, 0 skipped");
      expect(code).toBe(1);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  RUN_MS,
);

describe("a Worker with four faults", () => {
  let run: Awaited<ReturnType<typeof verify>>;

  beforeAll(async () => {
    const files = [
      `--worker=${join(FIXTURES, "faulty-worker.ts")}`,
      `--next=${join(FIXTURES, "faulty-next-worker.ts")}`,
    ];
    run = await verify(...files);
  }, RUN_MS);

  test("the run ends with 1", () => {
    expect(run.code).toBe(1);
  });

  test.each([
    ["a slow start", /FAILED +start-up: \d+ ms; at most 1000/],
    ["a lost row", /FAILED +next release, with a migration, keeps what was stored: note:\/\/verify\/first is lost/],
    ["a wrong counter of the bill", /FAILED +bill: .*at most \d+ KV reads are expected/],
    ["a revoked key that is served", /FAILED +revoked key is refused: call 1 after the acknowledgement answers 200/],
  ])("%s is found", (_fault, line) => {
    expect(run.output).toMatch(line);
  });
});
