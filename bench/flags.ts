// The options of `npm run bench`.
import { scriptOptions } from "../scripts/script-options.ts";
import { NOISE_STATED } from "./budgets.ts";

export const INSTALL_PEERS = "npm ci --prefix bench/peers";

export const readFlags = () =>
  scriptOptions(
    `npm run bench -- [--quick] [--only NAME] [--peers] [--against DIR] [--json FILE]

Measures CPU time per request next to a bare Hono Worker, and fails where a budget is exceeded. About half an hour.

  --quick        shorter slices and smaller tenants; 9 minutes
  --only NAME    only the scenarios whose name contains NAME; also "scaling", "gateway", "fan-out" and "tenants"
  --peers        also measure other MCP servers, after ${INSTALL_PEERS}
  --against DIR  only next to an older release: DIR is a checkout of it, with its dependencies
  --json FILE    also write the figures to FILE

${NOISE_STATED}`,
    {
      quick: { type: "boolean", default: false },
      peers: { type: "boolean", default: false },
      against: { type: "string" },
      json: { type: "string" },
      only: { type: "string" },
    },
  );
