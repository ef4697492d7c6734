// `tenantry connect`: prints the configuration that each client needs for an endpoint, including its key or login. It
// never writes to the files of other programs.

import { Option, type Command } from "commander";
import {
  isLoopbackUrl,
  KEY_PLACEHOLDER,
  serverName,
  type Access,
  type ClientEndpoint,
} from "../../connect/recipes/recipe.ts";
import { findRecipe, RECIPES } from "../../connect/recipes/recipes.ts";
import { runCommand, type CommandContext } from "../command-context.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { endpointUrl, createMcpEndpoint } from "../mcp-endpoint.ts";
import { detectAccess } from "../doctor/access.ts";
import { formatTable } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { readKey, withKeyOptions, type KeyOptions } from "./key-option.ts";

interface ConnectOptions extends KeyOptions {
  readonly client?: string;
  readonly name?: string;
  readonly auth?: Access["kind"];
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

export function addConnectCommand(program: Command, terminal: Terminal): void {
  const connect = withKeyOptions(program.command("connect"))
    .description("Print a client's configuration; without --client, list the clients.")
    .argument("<endpoint>", "a tenant, tenant/profile, or the URL of any MCP endpoint")
    .addOption(new Option("-c, --client <client>", "the client").choices(RECIPES.map(({ client }) => client)))
    .option("--name <name>", "the name of the server in the client; default: tenant and profile")
    .addOption(
      new Option("--auth <how>", "how callers authenticate; default: as the endpoint says").choices([
        "open",
        "key",
        "login",
      ]),
    )
    .addHelpText(
      "after",
      `
Examples:
  tenantry connect demo                                          lists the clients
  tenantry connect demo --client claude-code
  tenantry connect acme/public --client cursor --key-file key.txt
  tenantry connect acme --client vscode --auth login
  tenantry connect https://mcp.example.com/mcp/acme --client curl --auth key

The configuration goes to stdout, and the instructions to stderr: docs/clients.md. Without a key, the configuration has
${KEY_PLACEHOLDER} in its place. A given key is tested first, and printed as part of the configuration.`,
    );
  runCommand(connect, terminal, runConnect);
}

async function runConnect(
  context: CommandContext,
  [endpointRef]: readonly [string],
  options: ConnectOptions,
): Promise<void> {
  const href = encodeVariables(new URL(endpointUrl(context.api.base, endpointRef)).href);
  const name = nameOf(href, options.name);
  const recipe = options.client === undefined ? undefined : findRecipe(options.client);
  if (recipe === undefined) return showClients(context, endpointRef);
  const endpoint: ClientEndpoint = { name, url: href, access: await accessOf(context, href, options) };
  const snippet = recipe.snippet(endpoint);
  const { file, link, steps, text } = snippet;
  context.show({ client: recipe.client, ...endpoint, ...snippet }, () => text);
  context.note(file === undefined ? `${recipe.title}:` : `${recipe.title}, ${file}:`);
  for (const step of [
    ...steps,
    ...(link === undefined ? [] : [`Or open ${link}`]),
    ...remainingSteps(endpoint, endpointRef, text),
  ]) {
    context.note(`- ${step}`);
  }
}

/** Clients expand `$` and braces as environment variables, and would send their values to the host in the URL. */
function encodeVariables(url: string): string {
  return url.replaceAll(/[${}]/g, encodeURIComponent);
}

/** RFC 6750, section 2.1. A shell or a client may interpret other characters in a key. */
const KEY = /^[\w.~+/-]+=*$/;

function nameOf(url: string, option: string | undefined): string {
  if (option === undefined) return serverNameOf(url);
  if (!NAME.test(option)) throw usageError("--name: must be 1 to 64 letters, digits, - and _");
  return option;
}

/** Named after the tenant in a tenantry endpoint's path, or after the host of another server. */
export function serverNameOf(url: string): string {
  const { pathname, hostname } = new URL(url);
  const [, tenant, profile] = /\/mcp\/([\w-]+)(?:\/([\w-]+))?\/?$/.exec(pathname) ?? [];
  return tenant === undefined ? hostname.replaceAll(/[^A-Za-z0-9_-]/g, "-").slice(0, 64) : serverName(tenant, profile);
}

/** Uses --auth if given. Otherwise the endpoint is probed as a client would, and a given key is tried. */
async function accessOf(context: CommandContext, url: string, options: ConnectOptions): Promise<Access> {
  const { terminal } = context;
  const keyInput = await readKey(terminal, options);
  const key = keyInput?.token;
  if (key !== undefined && !KEY.test(key)) throw usageError("a key must contain only letters, digits and -._~+/=");
  const asKey = { kind: "key", key: key ?? KEY_PLACEHOLDER } as const;
  if (options.auth !== undefined) return options.auth === "key" ? asKey : { kind: options.auth };
  const { kind, rejectedBecause } = await detectAccess(createMcpEndpoint(url, keyInput), terminal.signal);
  if (rejectedBecause !== undefined)
    context.warn(`${url} refuses every caller at the moment (403): ${rejectedBecause}`);
  // Clients take this 401 for the start of a login, and do not mention the key.
  if (key !== undefined && kind !== "open") {
    throw new CliError(
      EXIT.notAuthorised,
      `${url} refuses this key; tenantry doctor shows why, and --auth key prints the configuration anyway`,
    );
  }
  return key === undefined && kind !== "key" ? { kind } : asKey;
}

function remainingSteps({ access, url }: ClientEndpoint, endpointRef: string, text: string): string[] {
  const steps: string[] = [];
  if (access.kind === "key" && access.key === KEY_PLACEHOLDER) {
    const tenant = endpointRef.includes("://") ? "TENANT" : (endpointRef.split("/")[0] ?? endpointRef);
    const placeholderText = text.includes(KEY_PLACEHOLDER) ? `${KEY_PLACEHOLDER} stands for a key: ` : "";
    steps.push(
      `${placeholderText}tenantry key create ${tenant} --name NAME makes ${placeholderText === "" ? "a key" : "one"}.`,
    );
  }
  if (access.kind === "login") steps.push("If the tenant also takes keys, --auth key shows their configuration.");
  if (url.startsWith("http:") && !isLoopbackUrl(url) && access.kind !== "open") {
    steps.push("The URL is http: keys and tokens are sent unencrypted.");
  }
  return steps;
}

function showClients(context: CommandContext, endpointRef: string): void {
  const clients = RECIPES.map(({ client, title, snippet }) => ({
    client,
    title,
    file: snippet(SAMPLE_ENDPOINT).file ?? null,
  }));
  context.show(clients, () =>
    formatTable(
      ["client", "name", "configuration file"],
      clients.map(({ client, title, file }) => [client, title, file ?? "none: a command or a dialog"]),
      context.terminal.stdout,
    ),
  );
  context.note(`tenantry connect ${endpointRef} --client CLIENT shows what it needs.`);
}

/** A local URL, because Claude Desktop has a configuration file only for local endpoints. */
const SAMPLE_ENDPOINT: ClientEndpoint = { name: "x", url: "http://localhost/mcp/x", access: { kind: "open" } };
