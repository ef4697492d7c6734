// `tenantry doctor`: checks an endpoint as a client would, and explains how to fix each failed check. It
// changes nothing, and ends any session that it starts.

import type { Command } from "commander";
import { runCommand, type CommandContext } from "../command-context.ts";
import { checkCredential, checkAuth, checkBrowserAccess } from "../doctor/auth-check.ts";
import { hasFailed, type Finding } from "../doctor/finding.ts";
import { checkNetwork } from "../doctor/network-check.ts";
import { checkProtocol } from "../doctor/protocol-check.ts";
import { CliError, EXIT } from "../exit.ts";
import { endpointUrl, createMcpEndpoint, type McpEndpoint } from "../mcp-endpoint.ts";
import { rewriteInvocation } from "../terminal/invocation.ts";
import type { OutputLine } from "../terminal/output.ts";
import { oneLine } from "../terminal/printable.ts";
import { toCliError } from "../terminal/mcp-error.ts";
import { formatCount } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { serverNameOf } from "./connect.ts";
import { readKey, withKeyOptions, type KeyOptions } from "./key-option.ts";

interface DoctorOptions extends KeyOptions {
  readonly origin: string;
}

/** The origin of the MCP Inspector's page. */
const DEFAULT_ORIGIN = "http://localhost:6274";

export function addDoctorCommand(program: Command, terminal: Terminal): void {
  const doctor = withKeyOptions(program.command("doctor"))
    .description("Check an endpoint as a client would, and say how to fix what fails.")
    .argument("<endpoint>", "a tenant, tenant/profile, or the URL of any MCP endpoint")
    .option("--origin <origin>", "the origin of web pages that must be able to call the endpoint", DEFAULT_ORIGIN)
    .addHelpText(
      "after",
      `
Examples:
  tenantry doctor demo
  tenantry doctor https://mcp.example.com/mcp/acme --key-file key.txt
  tenantry doctor acme/public --origin https://app.example.com
  tenantry doctor acme --json | jq '.[] | select(.state == "failed")'

The exit code is ${EXIT.ok} if nothing failed, ${EXIT.unreachable} if there is no connection, ${EXIT.notAuthorised} if the key is refused, else ${EXIT.refused}.`,
    );
  runCommand(doctor, terminal, runDoctor);
}

async function runDoctor(
  context: CommandContext,
  [endpointRef]: readonly [string],
  options: DoctorOptions,
): Promise<void> {
  const { href } = new URL(endpointUrl(context.api.base, endpointRef));
  const endpoint = createMcpEndpoint(href, await readKey(context.terminal, options));
  const findings: Finding[] = [];
  const report = (...some: readonly Finding[]) => {
    findings.push(...some);
    if (!context.json) context.terminal.stdout.lines(some.flatMap((one) => linesOf(one, context.terminal)));
  };
  const exit = await runChecks(context, endpoint, { origin: options.origin, report });
  if (context.json) context.show(findings, () => "");
  const failures = findings.filter(({ state }) => state === "failed").length;
  const isComplete = findings.at(-1) !== NO_CREDENTIAL;
  if (failures > 0) context.note(`${formatCount(failures, "check")} failed.`);
  else context.note(isComplete ? "Nothing failed." : "Nothing failed, but some checks need a credential.");
  if (exit !== EXIT.ok) throw new CliError(exit, "");
}

interface CheckOptions {
  readonly origin: string;
  /** Prints each finding as soon as it is known. */
  readonly report: (...some: readonly Finding[]) => void;
}

async function runChecks({ terminal }: CommandContext, endpoint: McpEndpoint, { origin, report }: CheckOptions) {
  const network = await checkNetwork(new URL(endpoint.url));
  report(...network);
  if (hasFailed(network)) return EXIT.unreachable;
  try {
    const auth = await checkAuth(endpoint, terminal.signal);
    report(...auth.findings);
    if (auth.access === "nowhere") return EXIT.refused;
    const keyFinding = await checkCredential(endpoint, auth.access, terminal.signal);
    report(keyFinding, await checkBrowserAccess(endpoint, origin));
    if (keyFinding.state === "failed") return EXIT.notAuthorised;
    const hasAccess = endpoint.keySource !== undefined || auth.access === "in";
    const protocol = hasAccess
      ? await checkProtocol(endpoint, serverNameOf(endpoint.url), terminal.signal)
      : [NO_CREDENTIAL];
    report(...protocol);
    return hasFailed([...auth.findings, ...protocol]) ? EXIT.refused : EXIT.ok;
  } catch (error) {
    throw toCliError(error, endpoint);
  }
}

const NO_CREDENTIAL: Finding = {
  check: "initialize",
  state: "skipped",
  detail: "the endpoint needs a credential",
  fix: "Give a key: --key-file FILE, or TENANTRY_KEY. An unknown tenant gives the same answer, so check its name.",
};

const MARKS = { ok: "ok", note: "note", failed: "FAIL", skipped: "-" } as const;
const COLORS = { ok: "green", note: "yellow", failed: "red" } as const;

function linesOf({ check, state, detail, fix }: Finding, { env }: Terminal): OutputLine[] {
  const text = oneLine(`${MARKS[state].padEnd(5)} ${check}: ${detail}`);
  const line = state === "skipped" ? text : { color: COLORS[state], text };
  return fix === undefined ? [line] : [line, `      ${oneLine(rewriteInvocation(fix, env))}`];
}
