// `npm run serve:conformance -- --port N`: the fixture Worker in the foreground, for the conformance suite or for a look.
// Its storage is fresh at every start and removed at the end.
import { parseArgs } from "node:util";
import { DEFAULT_PORT } from "../src/cli/local/development.ts";
import { spawnFixtureServer } from "./fixture-server.ts";

const { values } = parseArgs({ options: { port: { type: "string", default: DEFAULT_PORT } } });
const server = await spawnFixtureServer(Number(values.port), "inherit");

for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => void server.stop(signal));

process.exitCode = await server.exited;
