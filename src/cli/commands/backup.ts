// `tenantry backup` and `tenantry restore`: an export plus keys, secrets, suspensions and approvals. Restoring keys
// into an existing tenant needs a flag, because some of them may have been revoked since.

import type { AdminRequest } from "../../admin/admin-client.ts";
import { chmod, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { isObject } from "../../protocol/jsonrpc.ts";
import { collectPages } from "../admin/admin-client.ts";
import { writeAtomically } from "../admin/export-folder.ts";
import { fileError } from "../admin/file-error.ts";
import { runCommand, type CommandContext } from "../command-context.ts";
import { usageError } from "../exit.ts";
import { printableJson } from "../terminal/printable.ts";
import { formatCount } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { applyPath } from "./apply.ts";
import { exportInto } from "./export.ts";

const BACKUP_FILE = "kept.json";
const AUDIT_FILE = "audit.ndjson";
/** The most digests that one decision takes. */
const BATCH = 100;

type Rows = readonly Readonly<Record<string, unknown>>[];

/** The parts that an export lacks. Their rows go back to the server unchanged. */
interface BackupContent {
  readonly tenant: string;
  readonly keys: Rows;
  readonly suspensions: Rows;
  readonly secrets: Rows;
  readonly approved: Readonly<Record<string, readonly string[]>>;
}

const BACKUP_HELP = `
The folder has the files of tenantry export, audit.ndjson for people to read, and kept.json: hashes of API keys,
suspensions, secrets that SECRETS_KEY sealed, and digests of approved definitions. Keep the folder secret: a person who
changes it can add a key, because restore takes keys from it. A backup has no logins (people sign in again), sessions,
usage or running calls.`;

export function addBackupCommands(program: Command, terminal: Terminal): void {
  const backup = program
    .command("backup")
    .description("Write a backup of a tenant to a folder.")
    .argument("<tenant>")
    .option("-o, --out <folder>", "the folder; default: named after the tenant")
    .addHelpText("after", `\nExamples:\n  tenantry backup acme -o backups/acme\n${BACKUP_HELP}`);
  runCommand(backup, terminal, backUpTenant);

  const restore = program
    .command("restore")
    .description("Restore a tenant from a backup, on the same server or another one.")
    .argument("<folder>")
    .option("-t, --tenant <tenant>", "another name for the tenant; to restore secrets, keep the original name")
    .option("--keys", "also restore missing keys, suspensions and secrets of an existing tenant")
    .option("--prune", "delete resources that the backup does not have")
    .addHelpText(
      "after",
      `
Examples:
  tenantry restore backups/acme                                     document, resources, approvals; keys and secrets only of a deleted tenant
  tenantry restore backups/acme --keys                              also keys; some may have been revoked since the backup
  tenantry restore backups/acme --url https://elsewhere.example     the same tenant there

If a restore was interrupted, run it again with --keys. Restoring twice changes nothing.`,
    );
  runCommand(restore, terminal, restoreTenant);
}

async function backUpTenant(
  context: CommandContext,
  [id]: readonly [string],
  { out }: { readonly out?: string },
): Promise<void> {
  process.umask(0o077);
  const { folder, resources, ...loaded } = await exportInto(context, id, out);
  await chmod(folder, 0o700).catch((error: unknown) => {
    throw fileError(error, folder);
  });
  const params = { id };
  const backup = { tenant: id, ...(await context.api.request("GET /tenants/{id}/backup", { params })) };
  const audit = await collectPages(context.api.pages("GET /tenants/{id}/audit", { params }));
  const lines = audit.map((entry) => `${printableJson(entry)}\n`).join("");
  await writeAtomically(folder, join(folder, AUDIT_FILE), lines);
  await writeAtomically(folder, join(folder, BACKUP_FILE), `${printableJson(backup, 2)}\n`);
  const { keys, secrets } = backup;
  context.show({ tenant: id, folder, resources, ...loaded, keys: keys.length, secrets: secrets.length }, () => {
    const counts = [
      formatCount(resources, "resource"),
      formatCount(keys.length, "key"),
      formatCount(secrets.length, "secret"),
    ];
    return `${id} is in ${folder}: ${counts.join(", ")}. Keep this folder secret: restore takes keys from it`;
  });
}

async function restoreTenant(
  context: CommandContext,
  [path]: readonly [string],
  options: { tenant?: string; keys?: true; prune?: true },
): Promise<void> {
  const folder = resolve(context.terminal.folder, path);
  const { tenant, approved, ...rows } = await readBackup(join(folder, BACKUP_FILE));
  const { id, created } = await applyPath(context, {
    file: folder,
    // The folder may have passed through other hands since it was written.
    rejectsLinks: true,
    // Names in the document may no longer exist in the code.
    unknownNames: true,
    ...(options.tenant !== undefined && { tenant: options.tenant }),
    ...(options.prune === true && { prune: true }),
  });
  if (created || options.keys === true) {
    // Secrets are sealed for a tenant of that name, and no other tenant can open them.
    const secrets = id === tenant ? rows.secrets : [];
    if (secrets.length < rows.secrets.length) {
      context.warn(
        `${formatCount(rows.secrets.length, "secret")} of ${tenant} not restored, because secrets are sealed for the tenant's name: set them again`,
      );
    }
    const body = { ...rows, secrets } as unknown as AdminRequest<"PUT /tenants/{id}/backup">["body"];
    const done = await context.api.request("PUT /tenants/{id}/backup", { params: { id }, body });
    context.note(`${id}: ${formatCount(done.rows, "row")} of keys, suspensions and secrets restored`);
    if (id !== tenant && rows.keys.length > 0) context.warn(`keys of ${tenant} now also work at /mcp/${id}`);
  } else {
    context.note(
      `${id} existed already: its keys, suspensions and secrets were not changed; --keys restores missing ones`,
    );
  }
  for (const [upstream, digests] of Object.entries(approved)) await approveAgain(context, [id, upstream], digests);
}

async function readBackup(file: string): Promise<BackupContent> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw fileError(error, file);
    throw usageError(
      `${file} does not exist: tenantry backup writes it. For a folder of tenantry export, run tenantry apply -f FOLDER`,
    );
  });
  const backup = parseBackup(text, file);
  if (!isBackup(backup))
    throw usageError(`${file}: is not a file of tenantry backup: it must have tenant, approved, and lists of rows`);
  return backup;
}

function parseBackup(text: string, file: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw usageError(`${file}: is not JSON: ${String(error)}`);
  }
}

/** The server validates the rows. */
function isBackup(value: unknown): value is BackupContent {
  const { tenant, keys, suspensions, secrets, approved } = Object(value) as Partial<
    Record<keyof BackupContent, unknown>
  >;
  const lists = [keys, suspensions, secrets, ...Object.values(Object(approved) as object)];
  return typeof tenant === "string" && isObject(approved) && lists.every((list) => Array.isArray(list));
}

/** Approves definitions again that the upstream still lists, after reading the upstream. */
async function approveAgain(
  context: CommandContext,
  [tenant, upstream]: readonly [string, string],
  digests: readonly string[],
): Promise<void> {
  const params = { id: tenant, upstream };
  try {
    await context.api.request("POST /tenants/{id}/upstreams/{upstream}/refresh", { params });
    const pending = await collectPages(context.api.pages("GET /tenants/{id}/upstreams/{upstream}/pending", { params }));
    const stillPending = pending.map(({ digest }) => digest).filter((digest) => digests.includes(digest));
    for (let from = 0; from < stillPending.length; from += BATCH) {
      const body = { digests: stillPending.slice(from, from + BATCH) };
      await context.api.request("POST /tenants/{id}/upstreams/{upstream}/approve", { params, body });
    }
    context.note(`${upstream}: ${formatCount(stillPending.length, "definition")} approved again`);
  } catch (error) {
    context.warn(
      `${upstream}: no definition approved again: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
