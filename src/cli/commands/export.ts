// `tenantry export`: writes a tenant to a folder that `tenantry apply -f` accepts.

import { join, resolve } from "node:path";
import type { Command } from "commander";
import { download, type DownloadResult, type DownloadFile } from "../admin/download.ts";
import { readTenantFile, toYaml } from "../admin/document-file.ts";
import { usageError } from "../exit.ts";
import * as place from "../admin/export-folder.ts";
import { runCommand, type CommandContext } from "../command-context.ts";
import { TargetFolder } from "../admin/target-folder.ts";
import { createResourceClient, type ResourceInfo } from "../admin/resource-client.ts";
import { printableJson } from "../terminal/printable.ts";
import { formatCount } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";

const HEADER = "# Written by tenantry export; tenantry apply -f FOLDER takes it.\n";

export interface ExportResult extends DownloadResult {
  readonly folder: string;
  readonly resources: number;
}

export function addExportCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("export")
    .description("Write a tenant to a folder: document, bases, prompts, resources. No keys and secrets.")
    .argument("<tenant>")
    .option("-o, --out <folder>", "the folder; default: named after the tenant")
    .addHelpText(
      "after",
      `
Examples:
  tenantry export acme -o backup/acme
  tenantry apply -f backup/acme                                  changes nothing
  tenantry apply -f backup/acme --url https://elsewhere.example  the same tenant there

The folder has tenant.yaml, bases/ (the documents it extends), resources.ndjson (one line a resource) and the
bodies under resources/. Exporting into the same folder again loads only what changed.`,
    );
  runCommand(command, terminal, exportTenant);
}

async function exportTenant(
  context: CommandContext,
  [id]: readonly [string],
  { out }: { out?: string },
): Promise<void> {
  const { folder, resources, ...loaded } = await exportInto(context, id, out);
  context.show({ tenant: id, folder, resources, ...loaded }, () => {
    return `${id} is exported to ${folder}: ${formatCount(resources, "resource")}, ${loaded.loaded} loaded, ${loaded.unchanged} unchanged`;
  });
}

/** `out`: a folder. Defaults to one named after the tenant. */
export async function exportInto(context: CommandContext, id: string, out: string | undefined): Promise<ExportResult> {
  const folder = resolve(context.terminal.folder, out ?? id);
  const { region, jurisdiction, own: document } = await context.api.request("GET /tenants/{id}", { params: { id } });
  if ((await place.detectExport(folder)) === "other")
    throw usageError(`${folder}: has other files, and is not a folder of tenantry export`);
  await rejectOtherTenantFolder(folder, id, context.terminal);
  const previousEntries = (await place.readIndex(folder)) ?? [];
  const target = new TargetFolder(folder);
  // Validate every name before writing anything.
  const bases = (document.extends ?? []).map((base) => ({ base, file: baseFile(target, base) }));
  const resources = createResourceClient(context.api, id);
  const stored = [...(await resources.all("")).values()];
  const nameOf = place.createFileNames();
  const wanted: (DownloadFile & { readonly name: string })[] = stored.map((one) => {
    const name = nameOf(one.uri);
    return { stored: one, root: folder, file: target.fileFor(one.uri, name.split("/")), name };
  });
  for (const { base, file } of bases) {
    const layer = await context.api.request("GET /bases/{name}", { params: { name: base } });
    await place.writeAtomically(folder, file, await toYaml(layer));
  }
  const loaded = await download(context, wanted, resources);
  // Write the bodies first, then the index, then tenant.yaml. Without tenant.yaml, apply rejects the folder as
  // incomplete.
  const entries = wanted.map((one) => place.toIndexEntry(one.stored as ResourceInfo, one.name));
  const index = entries.map((entry) => `${printableJson(entry)}\n`).join("");
  await place.writeAtomically(folder, join(folder, place.INDEX_FILE), index);
  const placement = { ...(region !== null && { region }), ...(jurisdiction !== null && { jurisdiction }) };
  await place.writeAtomically(
    folder,
    join(folder, place.TENANT_FILE),
    HEADER + (await toYaml({ id, ...placement, ...document })),
  );
  await place.removeStale(folder, previousEntries, entries);
  return { folder, resources: entries.length, ...loaded };
}

/** Writing here would replace the export of another tenant, which may be the only one left. */
async function rejectOtherTenantFolder(folder: string, id: string, terminal: Terminal): Promise<void> {
  const file = join(folder, place.TENANT_FILE);
  if (!(await place.pathExists(file))) return;
  const { id: storedId } = await readTenantFile(file, terminal);
  if (storedId !== id)
    throw usageError(
      `${folder}: has an export of ${storedId ?? "a document without an id"}, not of ${id}: name another folder`,
    );
}

/** A base name is a single file name: apply would not find a base in a subfolder. */
function baseFile(target: TargetFolder, base: string): string {
  return target.fileFor(`the base ${base}`, [place.BASES_FOLDER, `${base}.yaml`]);
}
