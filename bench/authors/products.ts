// What is particular to each package that is compared: its types, how it starts. And what its types say of a file.

import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Product } from "./mistakes.ts";

const ROOT = join(import.meta.dirname, "../..");

export interface Finding {
  readonly when: "types" | "start" | "call" | "never";
  /** The first line of what the author, or the caller, reads. */
  readonly message: string;
}

export interface Packaged {
  readonly title: string;
  readonly types: readonly string[];
  readonly path: string;
  /** The command that starts `server.ts` at a port; `watch`: again whenever it was saved. */
  readonly command: (port: number, watch: boolean) => readonly string[];
}

/** As their READMEs start them; Node runs TypeScript itself. */
const inNode = (title: string): Packaged => ({
  title,
  types: ["node"],
  path: "/mcp",
  command: (_port, watch) => (watch ? ["--watch", "server.ts"] : ["server.ts"]),
});

export const PRODUCTS: Readonly<Record<Product, Packaged>> = {
  tenantry: {
    title: "tenantry",
    types: ["@cloudflare/workers-types"],
    path: "/mcp",
    command: (port) => [
      join(ROOT, "node_modules/wrangler/bin/wrangler.js"),
      "dev",
      "--ip",
      "127.0.0.1",
      "--port",
      String(port),
      "--inspector-port",
      "0",
      "--show-interactive-dev-session=false",
    ],
  },
  fastmcp: inNode("FastMCP 4.20"),
  "mcp-lite": inNode("mcp-lite 0.10"),
  sdk: inNode("SDK 2.4"),
};

export async function caughtByTypes(product: Product, folder: string): Promise<Finding | undefined> {
  const isOurs = product === "tenantry";
  const compilerOptions = {
    target: "es2024",
    lib: isOurs ? ["es2024"] : ["es2024", "DOM", "DOM.Iterable"],
    module: "nodenext",
    moduleResolution: "nodenext",
    types: PRODUCTS[product].types,
    strict: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    noEmit: true,
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["server.ts"] }));
  const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [compiler, "--pretty", "false"], { cwd: folder }, (error, stdout) => {
      resolve(error ? stdout : "");
    });
  });
  if (output === "") return undefined;
  return { when: "types", message: innermost(output) };
}

/** Of an error's lines the last says what is wrong; those before say where it was met. */
function innermost(output: string): string {
  const lines = output.trim().split("\n");
  const next = lines.findIndex((line, at) => at > 0 && !line.startsWith(" "));
  const first = next === -1 ? lines : lines.slice(0, next);
  return (first.at(-1) ?? "").replace(/^.*error TS\d+: /, "").trim();
}
