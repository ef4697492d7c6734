// `tenantry secret`: values that only a tenant's own tools read. A value comes from a file, stdin or a hidden prompt,
// never from the command line, which others on the machine can read.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { collectPages } from "../admin/admin-client.ts";
import { propagationNote, repeatText } from "../terminal/changes.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { fileError } from "../admin/file-error.ts";
import { runCommand, confirm, type CommandContext } from "../command-context.ts";
import { formatTable, formatTime } from "../terminal/table.ts";
import { askSecret, isInteractive, readStdin, type Terminal } from "../terminal/terminal.ts";

interface SetOptions {
  readonly fromFile?: string;
  readonly wait?: boolean;
}

export function addSecretCommands(program: Command, terminal: Terminal): void {
  const secret = program.command("secret").description("Set, list and delete a tenant's secrets.");

  const set = secret
    .command("set")
    .description("Set a secret. Asks for its value, or reads it from stdin or a file.")
    .argument("<tenant>")
    .argument("<name>", "letters, digits and single _; case does not matter")
    .option("-f, --from-file <file>", "read the value from this file")
    .option("--wait", "wait until it is in effect everywhere")
    .addHelpText(
      "after",
      `
Examples:
  tenantry secret set acme API_TOKEN
  tenantry secret set acme API_TOKEN --from-file token.txt
  pass show acme/token | tenantry secret set acme API_TOKEN

A line break at the end is not part of the value. A tool reads it as ctx.secret("API_TOKEN"). When the command returns, a
replaced value is not used anywhere any more.`,
    );
  runCommand(set, terminal, setSecret);

  const list = secret
    .command("list")
    .description("List a tenant's secrets, without their values.")
    .argument("<tenant>")
    .addHelpText("after", "\nExamples:\n  tenantry secret list acme");
  runCommand(list, terminal, listSecrets);

  const remove = secret
    .command("delete")
    .description("Delete a secret. When the command returns, no tool can read it.")
    .argument("<tenant>")
    .argument("<name>", "as secret list shows it")
    .option("-y, --yes", "do not ask")
    .addHelpText("after", "\nExamples:\n  tenantry secret delete acme API_TOKEN --yes");
  runCommand(remove, terminal, deleteSecret);
}

type SecretArgs = readonly [tenant: string, name: string];

async function setSecret(
  context: CommandContext,
  [tenant, name]: SecretArgs,
  { fromFile, wait }: SetOptions,
): Promise<void> {
  const value = await readValue(context.terminal, name, fromFile);
  if (value === "") throw usageError("a secret must have at least one character");
  const query = { wait };
  const done = await context.api.request("PUT /tenants/{id}/secrets/{name}", {
    params: { id: tenant, name },
    query,
    body: { value },
  });
  context.show(done, () => [`${name} of ${tenant} is set`, ...propagationNote(done.effectiveAt)].join("\n"));
}

async function readValue(terminal: Terminal, name: string, file: string | undefined): Promise<string> {
  if (file !== undefined && file !== "-") {
    const bytes = await readFile(resolve(terminal.folder, file)).catch((error: unknown) => {
      throw fileError(error, file);
    });
    return decodeText(bytes, file);
  }
  if (file === undefined && isInteractive(terminal)) return askSecret(terminal, `Value of ${name}: `);
  return decodeText(await readStdin(terminal), "stdin");
}

/** Rejects invalid UTF-8: replacement characters would make it another secret. */
function decodeText(bytes: Uint8Array, source: string): string {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw usageError(`${source}: is not UTF-8 text: encode it in base64`);
  }
  return text.replace(/\r?\n$/, "");
}

async function listSecrets(context: CommandContext, [tenant]: readonly [string]): Promise<void> {
  const secrets = await collectPages(context.api.pages("GET /tenants/{id}/secrets", { params: { id: tenant } }));
  if (secrets.length === 0) context.note(`No secrets: tenantry secret set ${tenant} NAME sets one.`);
  context.show(secrets, () => {
    const rows = secrets.map(({ name, updated }) => [name, formatTime(updated)]);
    return rows.length === 0 ? "" : formatTable(["secret", "updated"], rows, context.terminal.stdout);
  });
}

async function deleteSecret(
  context: CommandContext,
  [tenant, name]: SecretArgs,
  { yes }: { yes?: boolean },
): Promise<void> {
  await confirm(context, `Delete the secret ${name} of ${tenant}`, yes);
  const done = await context.api.change("DELETE /tenants/{id}/secrets/{name}", { params: { id: tenant, name } });
  // A mistyped name must not look like a deleted secret.
  if (!done.changed) throw new CliError(EXIT.notFound, `there is no secret ${name} in ${tenant}, or not any more`);
  context.show(done, () => `${name} of ${tenant} is deleted everywhere${repeatText(done)}`);
}
