// `tenantry resource`: the files and texts that a tenant serves. `put` is in resource-put.ts.

import { createHash } from "node:crypto";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import { download } from "../admin/download.ts";
import { parseCount } from "./option-values.ts";
import { CliError, usageError } from "../exit.ts";
import { fileOf } from "../admin/local-files.ts";
import { TargetFolder } from "../admin/target-folder.ts";
import { looksLikeText } from "../admin/media-type.ts";
import { forEachConcurrent } from "../admin/for-each-concurrent.ts";
import { ResponseError } from "../terminal/server-error.ts";
import { runCommand, confirm, type CommandContext } from "../command-context.ts";
import { createResourceClient, type ResourceClient } from "../admin/resource-client.ts";
import { collectPages } from "../admin/admin-client.ts";
import { formatBytes, formatCount, formatTable, formatTime } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { TRANSFER_CONCURRENCY } from "../admin/upload.ts";
import { addPutCommand } from "./resource-put.ts";

export function addResourceCommands(program: Command, terminal: Terminal): void {
  const resource = program.command("resource").description("Upload, download, list and delete a tenant's resources.");
  addPutCommand(resource, terminal);

  const get = resource
    .command("get")
    .description("Print one resource, or download all under a prefix.")
    .argument("<tenant>")
    .argument("[uri]")
    .option("-o, --out <path>", "the file to write; with --prefix, the folder to write")
    .option("-p, --prefix <uri>", "all resources with URIs that start with this prefix")
    .option("--hidden", "with --prefix: also names that begin with a dot, such as .bashrc")
    .option("--raw", "print the bytes unchanged, even to a terminal")
    .addHelpText(
      "after",
      `
Examples:
  tenantry resource get acme file:///handbook/intro.md
  tenantry resource get acme file:///logo.png -o logo.png
  tenantry resource get acme --prefix file:///handbook/ -o handbook

Files and pipes get the stored bytes. On a terminal, control characters are replaced by visible ones, except with --raw.
Downloading a prefix again loads only changed resources. Nothing is written unless every URI can be a file of its own on any
system: names that lead out of the folder, device names of Windows, and names that differ only in case are refused.`,
    );
  runCommand(get, terminal, getResource);

  const list = resource
    .command("list")
    .description("List resources, in URI order.")
    .argument("<tenant>")
    .option("-p, --prefix <uri>", "only URIs that start with this prefix")
    .option("--limit <count>", "the largest number", parseCount)
    .addHelpText("after", "\nExamples:\n  tenantry resource list acme --prefix file:///handbook/ --limit 20");
  runCommand(list, terminal, listResources);

  const remove = resource
    .command("delete")
    .description("Delete resources by URI, or all under a prefix. A prefix asks first.")
    .argument("<tenant>")
    .argument("[uris...]")
    .option("-p, --prefix <uri>", "all resources with URIs that start with this prefix")
    .option("--if-match <etag>", "the ETag that the stored version must have; only if you pass one URI")
    .option("-y, --yes", "do not ask")
    .addHelpText(
      "after",
      `
Examples:
  tenantry resource delete acme file:///old.md file:///older.md
  tenantry resource delete acme --prefix file:///drafts/ --yes`,
    );
  runCommand(remove, terminal, deleteResources);
}

interface GetOptions {
  readonly out?: string;
  readonly prefix?: string;
  readonly raw?: true;
  readonly hidden?: true;
}

async function getResource(
  context: CommandContext,
  args: readonly [string, string?],
  options: GetOptions,
): Promise<void> {
  const [tenant, uri] = args;
  if ((uri === undefined) === (options.prefix === undefined)) throw usageError("give one URI, or --prefix");
  if (uri !== undefined) return getOne(context, { tenant, uri }, options);
  if (options.out === undefined) throw usageError("--prefix needs -o FOLDER");
  const prefix = options.prefix ?? "";
  const folder = resolve(context.terminal.folder, options.out);
  const resources = createResourceClient(context.api, tenant);
  const target = new TargetFolder(folder, { hidden: options.hidden === true });
  const wanted = [...(await resources.all(prefix)).values()].map((stored) => {
    return { stored, root: folder, file: fileOf(target, prefix, stored.uri) };
  });
  const done = await download(context, wanted, resources);
  context.show({ folder, ...done }, () => {
    return `${formatCount(wanted.length, "file")} in ${folder}: ${done.loaded} loaded, ${done.unchanged} unchanged`;
  });
}

async function getOne(
  context: CommandContext,
  resource: { tenant: string; uri: string },
  { out, raw }: GetOptions,
): Promise<void> {
  const resources = createResourceClient(context.api, resource.tenant);
  const response = await resources.get(resource.uri);
  const body = new Uint8Array(await response.arrayBuffer());
  if (out !== undefined && out !== "-") {
    const stored = {
      uri: resource.uri,
      size: body.byteLength,
      sha256: createHash("sha256").update(body).digest("hex"),
    };
    const file = resolve(context.terminal.folder, out);
    const singleUseClient = { ...resources, get: async () => new Response(body) };
    await download(context, [{ stored, root: dirname(file), file }], singleUseClient);
    return context.show({ file, size: body.byteLength }, () => `${out}: ${formatBytes(body.byteLength)}`);
  }
  const { stdout } = context.terminal;
  // A pipe gets the exact bytes: the next program must not see an altered copy.
  if (!stdout.isTTY || raw === true) return stdout.bytes(body);
  if (!looksLikeText(body)) {
    throw usageError(`${resource.uri} is binary (${formatBytes(body.byteLength)}): write it to a file with -o FILE`);
  }
  stdout.write(new TextDecoder().decode(body));
}

interface ListOptions {
  readonly prefix?: string;
  readonly limit?: number;
}

async function listResources(
  context: CommandContext,
  [tenant]: readonly [string],
  options: ListOptions,
): Promise<void> {
  const params = { id: tenant };
  const query = options.prefix === undefined ? {} : { prefix: options.prefix };
  const stored = await collectPages(context.api.pages("GET /tenants/{id}/resources", { params, query }, options.limit));
  if (stored.length === 0) context.note(`No resources: tenantry resource put ${tenant} FOLDER uploads some.`);
  context.show(stored, () => {
    const rows = stored.map((one) => [
      one.uri,
      one.mimeType,
      formatBytes(one.size),
      formatTime(one.lastModified),
      one.tags.join(", "),
    ]);
    if (rows.length === 0) return "";
    return formatTable(["uri", "type", "size", "modified", "tags"], rows, context.terminal.stdout);
  });
}

interface DeleteOptions {
  readonly prefix?: string;
  readonly ifMatch?: string;
  readonly yes?: boolean;
}

async function deleteResources(
  context: CommandContext,
  [tenant, uriArgs]: readonly [string, readonly string[]],
  { prefix, ifMatch, yes }: DeleteOptions,
): Promise<void> {
  if (uriArgs.length > 0 === (prefix !== undefined)) throw usageError("give URIs, or --prefix");
  if (ifMatch !== undefined && uriArgs.length !== 1) throw usageError("--if-match: needs exactly one URI");
  const resources = createResourceClient(context.api, tenant);
  const uris = prefix === undefined ? uriArgs : [...(await resources.all(prefix)).keys()];
  if (prefix !== undefined && uris.length > 0) {
    await confirm(context, `Delete ${formatCount(uris.length, "resource")} under ${prefix} of ${tenant}`, yes);
  }
  const condition = ifMatch === undefined ? {} : { "if-match": ifMatch };
  let deleted = 0;
  try {
    await forEachConcurrent(uris, TRANSFER_CONCURRENCY, async (uri) => {
      const notFound = await removeIfExists(resources, uri, condition);
      // When deleting a whole prefix, a resource that someone else deleted meanwhile is not an error.
      if (notFound && prefix === undefined) throw notFound;
      if (!notFound) deleted += 1;
    });
  } catch (error) {
    if (!(error instanceof CliError) || uris.length === 1) throw error;
    throw new CliError(error.exit, `${error.message} (${deleted} of ${uris.length} deleted)`, { cause: error });
  }
  context.show({ deleted }, () => `${formatCount(deleted, "resource")} deleted`);
}

async function removeIfExists(
  resources: ResourceClient,
  uri: string,
  condition: Readonly<Record<string, string>>,
): Promise<ResponseError | undefined> {
  try {
    await resources.remove(uri, condition);
    return undefined;
  } catch (error) {
    if (error instanceof ResponseError && error.status === 404) return error;
    throw error;
  }
}
