// What the figures were measured on.
import { readFileSync } from "node:fs";
import { cpus } from "node:os";

export function machine(): { cpu: string; node: string; workerd: string } {
  const processors = cpus();
  const manifest = readFileSync(new URL("../node_modules/workerd/package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  return {
    cpu: `${processors.length} × ${processors[0]?.model ?? "unknown processor"}`,
    node: process.versions.node,
    workerd: version,
  };
}
