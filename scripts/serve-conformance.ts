import { DEFAULT_PORT } from "../src/cli/local/development.ts";
import { spawnFixtureServer } from "./fixture-server.ts";
import { scriptOptions } from "./script-options.ts";

const { port } = scriptOptions(
  `npx node scripts/serve-conformance.ts [--port N]

Serves the Worker of the tests until Ctrl+C, for the conformance suite. Its storage is removed at the end.

  --port N  another port than ${DEFAULT_PORT}`,
  { port: { type: "string", default: DEFAULT_PORT } },
);
const server = await spawnFixtureServer(Number(port), "inherit");

for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => void server.stop(signal));

process.exitCode = await server.exited;
