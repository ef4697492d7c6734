// Owns `tenantry doctor`: what a client would meet at an endpoint, step by step, and what mends each step that fails. Refuses
// to change anything there: a session that it begins, it ends.

import type { Command } from "commander";
import { act, type CommandContext } from "../command-context.ts";
import { credential, entrance, pages } from "../doctor/door.ts";
import { hasFailed, type Finding } from "../doctor/finding.ts";
import { reach } from "../doctor/reach.ts";
import { speech } from "../doctor/speech.ts";
import { CliError, EXIT } from "../exit.ts";
import { endpointUrl, mcpEndpoint, type McpEndpoint } from "../mcp-endpoint.ts";
import { asTyped } from "../terminal/as-typed.ts";
import type { ShownLine } from "../terminal/output.ts";
import { oneLine } from "../terminal/printable.ts";
import { mcpProblem } from "../terminal/mcp-problem.ts";
import { count } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { serverNameOf } from "./connect.ts";
import { keyFor, withKeyOptions, type KeyOptions } from "./key-option.ts";

interface DoctorOptions extends KeyOptions {
  readonly origin: string;
}

/** The page of the MCP Inspector. */
const PAGE = "http://localhost:6274";

export function addDoctorCommand(program: Command, terminal: Terminal): void {
  const doctor = withKeyOptions(program.command("doctor"))
    .description("Go the way of a client to an endpoint, step by step, and say what mends what fails.")
    .argument("<endpoint>", "a tenant, tenant/profile, or the URL of any MCP endpoint")
    .option("--origin <origin>", "whose pages shall be able to call it", PAGE)
    .addHelpText(
      "after",
      `
Examples:
  tenantry doctor demo
  tenantry doctor https://mcp.example.com/mcp/acme --key-file key.txt
  tenantry doctor acme/public --origin https://app.example.com
  tenantry doctor acme --json | jq '.[] | select(.state == "failed")'

Ends with ${EXIT.ok} where nothing failed, ${EXIT.unreachable} where there is no connection, ${EXIT.notAuthorised} where the key is refused, else with ${EXIT.refused}.`,
    );
  act(doctor, terminal, runDoctor);
}

async function runDoctor(context: CommandContext, [where]: readonly [string], options: DoctorOptions): Promise<void> {
  const { href } = new URL(endpointUrl(context.api.base, where));
  const endpoint = mcpEndpoint(href, await keyFor(context.terminal, options));
  const findings: Finding[] = [];
  const found = (...some: readonly Finding[]) => {
    findings.push(...some);
    if (!context.json) context.terminal.stdout.lines(some.flatMap((one) => linesOf(one, context.terminal)));
  };
  const exit = await examine(context, endpoint, { origin: options.origin, found });
  if (context.json) context.show(findings, () => "");
  const failures = findings.filter(({ state }) => state === "failed").length;
  const isWhole = findings.at(-1) !== OUTSIDE;
  if (failures > 0) context.note(`${count(failures, "step")} failed.`);
  else context.note(isWhole ? "Nothing failed." : "Nothing failed, as far as a client comes without a credential.");
  if (exit !== EXIT.ok) throw new CliError(exit, "");
}

interface Examining {
  readonly origin: string;
  /** Shows what was found, as soon as it is. */
  readonly found: (...some: readonly Finding[]) => void;
}

async function examine({ terminal }: CommandContext, endpoint: McpEndpoint, { origin, found }: Examining) {
  const reached = await reach(new URL(endpoint.url));
  found(...reached);
  if (hasFailed(reached)) return EXIT.unreachable;
  try {
    const entered = await entrance(endpoint, terminal.signal);
    found(...entered.findings);
    if (entered.leads === "nowhere") return EXIT.refused;
    const known = await credential(endpoint, entered.leads, terminal.signal);
    found(known, await pages(endpoint, origin));
    if (known.state === "failed") return EXIT.notAuthorised;
    const isLetIn = endpoint.keyFrom !== undefined || entered.leads === "in";
    const spoken = isLetIn ? await speech(endpoint, serverNameOf(endpoint.url), terminal.signal) : [OUTSIDE];
    found(...spoken);
    return hasFailed([...entered.findings, ...spoken]) ? EXIT.refused : EXIT.ok;
  } catch (error) {
    throw mcpProblem(error, endpoint);
  }
}

const OUTSIDE: Finding = {
  step: "initialize",
  state: "skipped",
  said: "nobody is let in without a credential",
  mend: "Give one: --key-file FILE, or TENANTRY_KEY.",
};

const MARKS = { ok: "ok", note: "note", failed: "FAIL", skipped: "-" } as const;
const COLORS = { ok: "green", note: "yellow", failed: "red" } as const;

function linesOf({ step, state, said, mend }: Finding, { env }: Terminal): ShownLine[] {
  const text = oneLine(`${MARKS[state].padEnd(5)} ${step}: ${said}`);
  const line = state === "skipped" ? text : { color: COLORS[state], text };
  return mend === undefined ? [line] : [line, `      ${oneLine(asTyped(mend, env))}`];
}
