// `tenantry apply` and `tenantry diff`: make a tenant match a file or a folder, or show the changes that would make.

import type { AdminRequest } from "../../admin/admin-client.ts";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Command } from "commander";
import { appliedLines, changeLines, markedLine, warningLines, type ApplyOutcome } from "../terminal/changes.ts";
import { rewriteInvocation } from "../terminal/invocation.ts";
import type { OutputLine } from "../terminal/output.ts";
import { readDocument, readTenantFile, type TenantFile } from "../admin/document-file.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { BASES_FOLDER, INDEX_FILE, isFolder, readSources, TENANT_FILE } from "../admin/export-folder.ts";
import { forEachConcurrent } from "../admin/for-each-concurrent.ts";
import { ResponseError } from "../terminal/server-error.ts";
import { runCommand, type CommandContext } from "../command-context.ts";
import { createResourceClient, type ResourceClient } from "../admin/resource-client.ts";
import { withSpinner } from "../terminal/spinner.ts";
import { formatCount } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import {
  TRANSFER_CONCURRENCY,
  reportFailures,
  planUpload,
  reportText,
  runUpload,
  type UploadPlan,
  type UploadSource,
} from "../admin/upload.ts";
import { nextStep } from "../admin/login-text.ts";
import { noteIgnoredAuth, type TenantAnswer } from "./tenant.ts";

export interface ApplyOptions {
  readonly file: string;
  readonly tenant?: string;
  readonly dryRun?: boolean;
  readonly wait?: boolean;
  readonly prune?: boolean;
  readonly force?: boolean;
  readonly rejectsLinks?: boolean;
  readonly unknownNames?: boolean;
}

interface DiffOptions extends ApplyOptions {
  readonly exitCode?: boolean;
}

const EXAMPLES = `
Examples:
  tenantry apply -f tenant.yaml                    exactly what the file says
  tenantry apply -f tenant.yaml --dry-run          only show the difference
  tenantry apply -f acme/                          a folder that export wrote: document and resources
  tenantry apply -f acme/ --tenant acme-copy       the same under another name
  tenantry apply -f acme/ --prune                  and delete resources that the folder does not have

A tenant that does not exist is created. A field that the file leaves out is removed from the document; resources
are removed only with --prune. Applying again changes nothing. The file: tenantry help document.`;

export function addApplyCommands(program: Command, terminal: Terminal): void {
  const apply = program
    .command("apply")
    .description("Apply a file or an exported folder to a tenant.")
    .requiredOption("-f, --file <path>", "a YAML or JSON file, a folder, or - for stdin")
    .option("-t, --tenant <tenant>", "the tenant, instead of the id in the file")
    .option("--dry-run", "only show what would change")
    .option("--wait", "wait until it is in effect everywhere")
    .option("--prune", "delete resources that the folder does not have")
    .option("--force", "overwrite resources even if they change meanwhile")
    .option("--unknown-names", "accept unknown names of tools and prompts, with a warning")
    .addHelpText("after", EXAMPLES);
  runCommand(apply, terminal, async (context, _args: readonly [], options: ApplyOptions) => {
    const { id, outcome } = await applyPath(context, options);
    if (options.dryRun !== true) await readAddedUpstreams(context, id, outcome.changes);
  });

  const diff = program
    .command("diff")
    .description("Show what apply would change.")
    .requiredOption("-f, --file <path>", "a YAML or JSON file, a folder, or - for stdin")
    .option("-t, --tenant <tenant>", "the tenant, instead of the id in the file")
    .option("--prune", "also show the resources that --prune would delete")
    .option("--exit-code", `exit with code ${EXIT.differs} if there is a difference`)
    .addHelpText("after", "\nExamples:\n  tenantry diff -f tenant.yaml\n  tenantry diff -f acme/ --prune --exit-code");
  runCommand(diff, terminal, async (context, _args: readonly [], options: DiffOptions) => {
    const { changed } = await applyPath(context, { ...options, dryRun: true });
    if (changed && options.exitCode === true) throw new CliError(EXIT.differs, "");
  });
}

export interface ApplyPathResult {
  readonly id: string;
  readonly created: boolean;
  /** Whether anything changed, or without --dry-run would have. */
  readonly changed: boolean;
  readonly outcome: ApplyOutcome;
}

export async function applyPath(context: CommandContext, options: ApplyOptions): Promise<ApplyPathResult> {
  // Read and check everything before sending anything.
  const input = await readInput(context.terminal, options);
  const { id, folder, sources } = input;
  const missing = folder === undefined ? 0 : await applyBases(context, folder, options);
  const applied = await applyDocument(context, input, { ...options, skipsCheck: missing > 0 });
  const resources = sources && (await applyResources(context, { id, sources, applied }, options));
  const { report } = resources ?? {};
  context.show(
    { tenant: id, created: applied.created, ...applied.outcome, ...(report && { resources: report }) },
    () => [...applied.lines, ...(resources?.lines ?? [])],
  );
  reportFailures(context, report?.failed ?? []);
  const { created, outcome } = applied;
  return { id, created, outcome, changed: created || outcome.changes.length > 0 || resources?.changed === true };
}

/** Reads upstreams that the document added, as `upstream add` does: their tools are unknown before. */
async function readAddedUpstreams(
  context: CommandContext,
  id: string,
  changes: ApplyOutcome["changes"],
): Promise<void> {
  const members = changes.flatMap(({ path, before, after }) => {
    if (before !== undefined) return [];
    const [, name] = /^upstreams\.([^.]+)$/.exec(path) ?? [];
    return name === undefined
      ? Object.entries(path === "upstreams" ? (after as object) : {})
      : [[name, after] as const];
  });
  const added = members.filter(([, one]) => (one as { enabled?: boolean }).enabled !== false);
  const read = forEachConcurrent(added, TRANSFER_CONCURRENCY, async ([upstream]) => {
    const refresh = "POST /tenants/{id}/upstreams/{upstream}/refresh";
    const why = await context.api.request(refresh, { params: { id, upstream } }).then(
      (done) => (done.read ? undefined : done.upstream.why),
      (error: unknown) => {
        if (error instanceof ResponseError) return error.message;
        throw error;
      },
    );
    if (why !== undefined) {
      const command = rewriteInvocation(`tenantry upstream refresh ${id} ${upstream}`, context.terminal.env);
      context.warn(`${upstream} of ${id} is stored, but could not be read: ${why ?? ""}; try again with ${command}`);
    }
  });
  const spinner = context.quiet || context.json || added.length === 0 ? undefined : context.terminal.stderr;
  await withSpinner(spinner, `Reading ${formatCount(added.length, "upstream")}`, () => read);
}

interface Input {
  readonly id: string;
  readonly file: TenantFile;
  /** undefined when applying a single file. */
  readonly folder: string | undefined;
  /** undefined if the folder has no index: then resources stay untouched. */
  readonly sources: readonly UploadSource[] | undefined;
}

async function readInput(terminal: Terminal, options: ApplyOptions): Promise<Input> {
  const path = resolve(terminal.folder, options.file);
  const folder = options.file !== "-" && (await isFolder(path)) ? path : undefined;
  if (folder !== undefined && !(await readdir(folder)).includes(TENANT_FILE)) {
    const reason = `is not a folder of tenantry export, because it has no ${TENANT_FILE}`;
    throw usageError(`${options.file}: ${reason}. Apply the files of several tenants one by one`);
  }
  const file = await readTenantFile(folder === undefined ? options.file : join(folder, TENANT_FILE), terminal);
  const id = options.tenant ?? file.id;
  if (id === undefined) throw usageError(`${options.file}: names no tenant: add id: NAME, or --tenant NAME`);
  const sources = folder === undefined ? undefined : await readSources(folder, options.rejectsLinks);
  if (options.prune === true && !sources) throw usageError(`--prune: ${options.file} has no ${INDEX_FILE}`);
  return { id, file, folder, sources };
}

interface AppliedDocument {
  readonly created: boolean;
  readonly outcome: ApplyOutcome;
  readonly lines: readonly OutputLine[];
}

interface DocumentOptions extends ApplyOptions {
  /** The server cannot check the document yet, because bases that it extends do not exist there. */
  readonly skipsCheck: boolean;
}

async function applyDocument(
  context: CommandContext,
  { id, file }: Input,
  { dryRun = false, wait = false, unknownNames = false, skipsCheck }: DocumentOptions,
): Promise<AppliedDocument> {
  const etag = await currentEtag(context, id);
  const nameQuery = { unknownNames: unknownNames || undefined };
  if (etag === undefined) {
    const creation = { id, file, query: nameQuery };
    return dryRun ? previewCreation(context, creation, skipsCheck) : createTenantFrom(context, creation);
  }
  const query = { dryRun: dryRun || undefined, wait: wait || undefined, ...nameQuery };
  const put = (tag: string) => {
    const args = { params: { id }, query, headers: { "if-match": tag }, body: file.document };
    return file.withPositions(() => context.api.request("PUT /tenants/{id}/document", args));
  };
  const outcome = await put(etag).catch(async (error: unknown) => {
    if (!(error instanceof ResponseError) || error.status !== 412) throw error;
    // The first answer may have been lost; in that case the server already has this document.
    const currentTag = await currentEtag(context, id);
    const args = { params: { id }, query: nameQuery, body: file.document };
    const remaining = await context.api.dryRun("PUT /tenants/{id}/document", args);
    if (currentTag === undefined || remaining.changes.length > 0) throw error;
    return put(currentTag);
  });
  // The file does not show what its bases set.
  const { mode = "key", ...settings } = file.document as TenantAnswer["effective"];
  if (file.document["extends"] === undefined) noteIgnoredAuth(context, { ...settings, mode });
  return { created: false, outcome, lines: appliedLines(id, outcome) };
}

async function currentEtag(context: CommandContext, id: string): Promise<string | undefined> {
  try {
    const response = await context.api.response("GET /tenants/{id}/document", { params: { id } });
    await response.body?.cancel();
    return response.headers.get("etag") ?? "*";
  } catch (error) {
    if (error instanceof ResponseError && error.status === 404) return undefined;
    throw error;
  }
}

function outcomeOf({ document }: TenantFile, dryRun: boolean): ApplyOutcome {
  const changes = Object.entries(document).map(([path, after]) => ({ path, after }));
  return { revision: 0, changed: true, dryRun, effectiveAt: null, changes };
}

/** The server validates the content of the file. */
function bodyOf(id: string, { document, placement }: TenantFile): AdminRequest<"POST /tenants">["body"] {
  return { id, document, ...placement } as AdminRequest<"POST /tenants">["body"];
}

interface CreationRequest {
  readonly id: string;
  readonly file: TenantFile;
  readonly query: { readonly unknownNames: true | undefined };
}

async function previewCreation(
  context: CommandContext,
  { id, file, query }: CreationRequest,
  skipsCheck: boolean,
): Promise<AppliedDocument> {
  const args = { query, body: bodyOf(id, file) };
  const outcome = skipsCheck
    ? outcomeOf(file, true)
    : await file.withPositions(() => context.api.dryRun("POST /tenants", args));
  const lines = [...changeLines(outcome.changes), ...warningLines(outcome)];
  return { created: true, outcome, lines: [`${id}: would be created`, ...lines] };
}

async function createTenantFrom(
  context: CommandContext,
  { id, file, query }: CreationRequest,
): Promise<AppliedDocument> {
  const outcome = outcomeOf(file, false);
  const lines = changeLines(outcome.changes);
  const body = bodyOf(id, file);
  const create = () => context.api.request("POST /tenants", { query, body });
  const { revision, url, effective, ...rest } = await file.withPositions(create);
  noteIgnoredAuth(context, effective);
  const next = effective.auth ? rewriteInvocation(nextStep(id, effective), context.terminal.env) : "";
  const { warnings } = rest;
  const outputLines = [`${id}: created at ${url}${next}`, ...lines, ...warningLines(rest)];
  return { created: true, outcome: { ...outcome, revision, ...(warnings && { warnings }) }, lines: outputLines };
}

/**
 * Many tenants share a base, so a missing base is created, and a different one stays as it is. Returns the number
 * that are still missing.
 */
async function applyBases(context: CommandContext, folder: string, { dryRun }: ApplyOptions): Promise<number> {
  let missing = 0;
  const names = await readdir(join(folder, BASES_FOLDER)).catch(() => []);
  for (const name of names.filter((one) => one.endsWith(".yaml"))) {
    const base = name.slice(0, -".yaml".length);
    const { value: wanted, withPositions } = await readDocument(join(folder, BASES_FOLDER, name), context.terminal);
    const existing = await context.api.find("GET /bases/{name}", { params: { name: base } });
    if (existing === undefined) {
      context.note(`Base ${base}: ${dryRun === true ? "would be created" : "created"}`);
      if (dryRun === true) missing += 1;
      else
        await withPositions(() => context.api.request("PUT /bases/{name}", { params: { name: base }, body: wanted }));
    } else if (!isDeepStrictEqual(existing, wanted)) {
      context.note(
        `Base ${base} has other content on the server and was not changed; tenantry base put and tenantry base rollout change it`,
      );
    }
  }
  return missing;
}

interface ResourceInput {
  readonly id: string;
  readonly sources: readonly UploadSource[];
  readonly applied: AppliedDocument;
}

async function applyResources(context: CommandContext, input: ResourceInput, options: ApplyOptions) {
  const resources = createResourceClient(context.api, input.id);
  const { sources } = input;
  const missing = options.dryRun === true && input.applied.created;
  const stored = missing ? new Map() : await resources.all("");
  const plan = await planUpload(sources, stored);
  const wanted = new Set(sources.map(({ uri }) => uri));
  const extra = options.prune === true ? [...stored.keys()].filter((uri: string) => !wanted.has(uri)) : [];
  const changed = plan.uploads.length + extra.length > 0;
  if (options.dryRun === true) return { ...dryRunReport(plan, extra), changed };
  const report = await runUpload(context, plan, resources, options.force);
  if (report.failed.length === 0) await removeAll(resources, extra);
  const pruned = extra.length === 0 ? "" : `, ${formatCount(extra.length, "resource")} deleted`;
  return { report: { ...report, deleted: extra.length }, lines: [`${reportText(report)}${pruned}`], changed };
}

async function removeAll(resources: ResourceClient, uris: readonly string[]): Promise<void> {
  await forEachConcurrent(uris, TRANSFER_CONCURRENCY, (uri) => resources.remove(uri, {}));
}

function dryRunReport(plan: UploadPlan, extra: readonly string[]) {
  const lines = [
    ...plan.uploads.map(({ source, stored }) => markedLine(stored ? "changed" : "added", source.uri)),
    ...extra.map((uri) => markedLine("removed", uri)),
  ];
  const report = { uploaded: 0, unchanged: plan.unchanged, failed: plan.tooLarge, deleted: 0 };
  const wouldBe = { upload: plan.uploads.map(({ source }) => source.uri), delete: extra };
  const head =
    lines.length === 0
      ? "Resources: nothing to change"
      : `Resources: ${formatCount(lines.length, "change")}, not applied`;
  return { report: { ...report, wouldBe }, lines: [head, ...lines] };
}
