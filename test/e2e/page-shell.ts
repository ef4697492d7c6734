// Runs the shell blocks of a page as somebody types them, in one terminal and one after the other: in a folder that
// looks like a checkout, against a Worker that runs. What installs, needs an account or starts other programs is left
// out, by a list of reasons.

import { spawn } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { shellEnvironment, type Application } from "../support/application.ts";
import type { PageBlock } from "../support/page-blocks.ts";

const ROOT = join(import.meta.dirname, "../..");
const DOCUMENTED = ["http://localhost:8362", "https://mcp.example.com", "https://tenantry.YOU.workers.dev"];

/** Lines that are not typed here, and why. */
export const LEFT_OUT: readonly (readonly [line: RegExp, why: string])[] = [
  [/^npm (?:ci|install|init)\b|^mkdir shop\b/, "installs; test/e2e/package.test.ts and api-start.test.ts do"],
  [/\bnpx wrangler\b/, "needs an account at Cloudflare"],
  [/^claude mcp add\b|^npx @modelcontextprotocol\b|\bnpx -y mcp-proxy@/, "a program of others"],
];

export interface Typed {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder with what a checkout has, and nothing of what a page makes. */
export function checkout(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "tenantry-typed-"));
  for (const name of ["node_modules", "scripts", "src"]) symlinkSync(join(ROOT, name), join(folder, name), "dir");
  cpSync(join(ROOT, "package.json"), join(folder, "package.json"));
  cpSync(join(ROOT, "docs"), join(folder, "docs"), { recursive: true });
  const bin = join(folder, ".bin");
  mkdirSync(bin);
  const node = join(ROOT, "node_modules/.bin/node");
  writeFileSync(join(bin, "tenantry"), `#!/bin/sh\nexec "${node}" "${join(ROOT, "src/cli/main.ts")}" "$@"\n`);
  chmodSync(join(bin, "tenantry"), 0o755);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

/** As it is typed here: without the lines that are left out, each address another one. */
export function typedOf(block: string, standIns: ReadonlyMap<string, string>): string {
  const kept = block.split("\n").filter((line) => !LEFT_OUT.some(([pattern]) => pattern.test(line)));
  return [...standIns].reduce((typed, [shown, ours]) => typed.replaceAll(shown, ours), kept.join("\n"));
}

export function standInsFor(
  application: Application,
  more: Readonly<Record<string, string>> = {},
): Map<string, string> {
  return new Map([...Object.entries(more), ...DOCUMENTED.map((shown) => [shown, application.origin] as const)]);
}

/** All blocks of a page in one bash, which ends with the first command that fails. */
export async function typeAll(
  blocks: readonly PageBlock[],
  folder: string,
  application: Application,
  standIns: ReadonlyMap<string, string>,
): Promise<Typed> {
  const script = blocks
    .map(({ page, line, text: block }) => `echo "${page}:${line}" >&2\n${typedOf(block, standIns)}`)
    .join("\n");
  const around = shellEnvironment();
  const env = {
    ...around,
    HOME: folder,
    PATH: [join(folder, ".bin"), around["PATH"]].join(delimiter),
    TENANTRY_URL: application.origin,
    TENANTRY_TOKEN: application.adminToken,
  };
  const shell = spawn("bash", ["-euo", "pipefail", "-c", script], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((resolve) => {
    shell.on("close", resolve);
  });
  const [stdout, stderr, exit] = await Promise.all([text(shell.stdout), text(shell.stderr), ended]);
  return { exit, stdout, stderr };
}
