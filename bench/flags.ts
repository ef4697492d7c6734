// What `npm run bench` may be asked.
import { parseArgs } from "node:util";
import { NOISE_STATED } from "./budgets.ts";

export const INSTALL_PEERS = "npm ci --prefix bench/peers";
export const USAGE = `npm run bench -- [--quick] [--only NAME] [--peers] [--against DIR] [--json FILE]

  --quick        shorter slices and smaller tenants, an ended lease judged next to asking an object alone; nine minutes
  --only NAME    only the scenarios (and peers) whose name contains NAME; "scaling", "gateway", "fan-out" or "tenants" for these
  --peers        also measure other MCP servers; they are installed by: ${INSTALL_PEERS}
  --against DIR  only what a request costs next to an older release: DIR is a checkout of it, with its dependencies
  --json FILE    also write the figures to FILE

${NOISE_STATED}
`;

const options = {
  quick: { type: "boolean", default: false },
  peers: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
  against: { type: "string" },
  json: { type: "string" },
  only: { type: "string" },
} as const;
/** Ends the process where it cannot be understood. */
export function readFlags(): ReturnType<typeof parseArgs<{ options: typeof options }>>["values"] {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(1);
  }
}
