import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PACKAGE_FOLDER } from "./install-path.ts";

export const VERSION = readVersion();

/** How the command line identifies itself to MCP servers. */
export const CLIENT_INFO = { name: "tenantry-cli", version: VERSION };

function readVersion(): string {
  const text = readFileSync(join(PACKAGE_FOLDER, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
