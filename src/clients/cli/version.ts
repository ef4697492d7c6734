// Owns which version this is: the package's own. The file lies as deep in src as in dist.

import { readFileSync } from "node:fs";

export const VERSION = readVersion();

/** How the command line names itself to MCP servers. */
export const CLIENT_INFO = { name: "tenantry-cli", version: VERSION };

function readVersion(): string {
  const text = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
