// `tenantry resource put`: uploads files, folders or stdin. After an interruption, the same command continues.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import type { Command } from "commander";
import { Option } from "commander";
import { parsePriority } from "./option-values.ts";
import { usageError } from "../exit.ts";
import { findFiles, type LocalFile } from "../admin/local-files.ts";
import { mimeTypeOf } from "../admin/media-type.ts";
import { forEachConcurrent } from "../admin/for-each-concurrent.ts";
import { runCommand, collectOption, type CommandContext } from "../command-context.ts";
import {
  fieldsOf,
  createResourceClient,
  type ResourceFields,
  type ResourceInfo,
  type ResourceClient,
} from "../admin/resource-client.ts";
import { formatBytes, formatCount } from "../terminal/table.ts";
import { readStdin, type Terminal } from "../terminal/terminal.ts";
import {
  TRANSFER_CONCURRENCY,
  reportFailures,
  planUpload,
  reportText,
  runUpload,
  type UploadPlan,
  type UploadSource,
} from "../admin/upload.ts";

interface PutOptions {
  readonly prefix: string;
  readonly uri?: string;
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly tag?: readonly string[];
  readonly audience?: readonly string[];
  readonly priority?: number;
  readonly hidden?: boolean;
  readonly dryRun?: boolean;
  readonly force?: boolean;
  readonly ifMatch?: string;
}

const EXAMPLES = `
Examples:
  tenantry resource put acme handbook/                             file:///intro.md, file:///img/logo.png, ...
  tenantry resource put acme handbook/ --prefix docs://handbook/   docs://handbook/intro.md, ...
  tenantry resource put acme intro.md --uri docs://intro --title "Introduction" --tag start
  date | tenantry resource put acme - --uri note://now

A file's URI is the prefix and its path in the folder. Types come from the extension; files that are not UTF-8 text are sent as
bytes. Files whose content is already stored are not sent again: after an interruption, run the same command again.
A resource that changes during the upload is not overwritten, except with --force. Title, tags and so on
stay as they are unless you give them. Names that begin with a dot are left out, except with --hidden.`;

export function addPutCommand(resource: Command, terminal: Terminal): void {
  const put = resource
    .command("put")
    .description("Upload files and folders. Sends only new and changed files.")
    .argument("<tenant>")
    .argument("<paths...>", "files and folders, or - for stdin")
    .option("-p, --prefix <uri>", "the prefix of every URI", "file:///")
    .option("--uri <uri>", "the URI; only if you pass one file")
    .option("--name <name>", "the name; only if you pass one file; default: the current name, or a new resource's path")
    .option("--title <text>", "the title; only if you pass one file")
    .option("--description <text>", "the description; only if you pass one file")
    .option("--mime-type <type>", "the media type; default: guessed from the file")
    .option("--tag <tag>", "a tag; repeatable", collectOption)
    .addOption(
      new Option("--audience <who>", "the audience; repeatable")
        .choices(["user", "assistant"])
        .argParser(collectOption),
    )
    .option("--priority <number>", "the priority, 0 to 1", parsePriority)
    .option("--hidden", "include names that begin with a dot")
    .option("--dry-run", "only show the files that would be sent")
    .option("--force", "overwrite any version")
    .option("--if-match <etag>", "the ETag that the stored version must have; only if you pass one file")
    .addHelpText("after", EXAMPLES);
  runCommand(put, terminal, putResources);
}

type PutArgs = readonly [tenant: string, paths: readonly string[]];

async function putResources(context: CommandContext, [tenant, paths]: PutArgs, options: PutOptions): Promise<void> {
  const { terminal } = context;
  rejectInvalidAudience(options);
  if (paths.includes("-")) {
    if (paths.length > 1) throw usageError("- (stdin): must be the only file");
    return withStdin(terminal, options.uri, (file) => putFiles(context, tenant, [file], options));
  }
  const prefix = prefixOf(options);
  const scan = await findFiles(paths, { cwd: terminal.folder, prefix, hidden: options.hidden === true });
  const files = applySingleFileOptions(scan.files, options);
  if (scan.hidden > 0) context.note(`${formatCount(scan.hidden, "hidden name")} left out; --hidden takes them too`);
  if (files.length === 0) throw usageError(`${paths.join(" ")}: contains no files`);
  await putFiles(context, tenant, files, options);
}

async function putFiles(context: CommandContext, tenant: string, files: readonly LocalFile[], options: PutOptions) {
  const resources = createResourceClient(context.api, tenant);
  const stored = await findStored(files, prefixOf(options), resources);
  const sources = await toUploadSources(files, stored, options);
  const plan = withIfMatch(await planUpload(sources, stored), options.ifMatch);
  if (options.dryRun === true) return showPlan(context, plan);
  const report = await runUpload(context, plan, resources, options.force);
  context.show(report, () => reportText(report));
  reportFailures(context, report.failed);
}

/** The server stores URI schemes in lower case, and its URIs are compared with this prefix. */
function prefixOf({ prefix }: PutOptions): string {
  return prefix.replace(/^[A-Za-z][A-Za-z0-9+.-]*:/, (scheme) => scheme.toLowerCase());
}

const SINGLE_FILE_OPTIONS = ["uri", "name", "title", "description", "ifMatch"] as const;

function applySingleFileOptions(files: readonly LocalFile[], options: PutOptions): readonly LocalFile[] {
  const [first] = files;
  const single = SINGLE_FILE_OPTIONS.find((name) => options[name] !== undefined);
  if (single === undefined || first === undefined) return files;
  if (files.length > 1) {
    const flag = single === "ifMatch" ? "if-match" : single;
    throw usageError(`--${flag}: must be used with one file, not ${files.length}`);
  }
  return [{ ...first, uri: options.uri ?? first.uri }];
}

function rejectInvalidAudience({ audience = [] }: PutOptions): void {
  const wrong = audience.find((who) => who !== "user" && who !== "assistant");
  if (wrong !== undefined) throw usageError(`--audience: user or assistant, not ${wrong}`);
}

async function findStored(files: readonly LocalFile[], prefix: string, resources: ResourceClient) {
  const [single] = files;
  if (single === undefined || files.length > 1) return resources.all(prefix);
  const stored = await resources.find(single.uri);
  return new Map(stored ? [[single.uri, stored]] : []);
}

async function toUploadSources(
  files: readonly LocalFile[],
  stored: ReadonlyMap<string, ResourceInfo>,
  options: PutOptions,
): Promise<UploadSource[]> {
  const sources: UploadSource[] = [];
  await forEachConcurrent(files, TRANSFER_CONCURRENCY, async ({ uri, file, displayPath, name, size }) => {
    const mimeType = options.mimeType ?? (await mimeTypeOf(file));
    const fields = mergeFields({ name, mimeType }, stored.get(uri), options);
    sources.push({ uri, file, displayPath, size, fields });
  });
  return sources;
}

/** Options take precedence, then the stored metadata, then the file's own. */
function mergeFields(
  file: { name: string; mimeType: string },
  stored: ResourceInfo | undefined,
  options: PutOptions,
): ResourceFields {
  const { name, title, description, tag, audience, priority } = options;
  return {
    tags: [],
    name: file.name,
    ...(stored && fieldsOf(stored)),
    mimeType: file.mimeType,
    ...(name !== undefined && { name }),
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(tag !== undefined && { tags: [...tag] }),
    ...(audience !== undefined && { audience: audience as ("user" | "assistant")[] }),
    ...(priority !== undefined && { priority }),
  };
}

function withIfMatch(plan: UploadPlan, etag: string | undefined): UploadPlan {
  if (etag === undefined) return plan;
  const uploads = plan.uploads.map(({ source, stored }) => ({
    source,
    stored: { ...(stored ?? ({} as ResourceInfo)), etag },
  }));
  return { ...plan, uploads };
}

function showPlan(context: CommandContext, plan: UploadPlan): void {
  const wouldBe = plan.uploads.map(({ source }) => ({
    uri: source.uri,
    size: source.size,
    type: source.fields.mimeType,
  }));
  context.show({ wouldUpload: wouldBe, unchanged: plan.unchanged, failed: plan.tooLarge }, () => {
    const lines = wouldBe.map(({ uri, size, type }) => `${uri}  ${type}  ${formatBytes(size)}`);
    return [...lines, `${formatCount(lines.length, "file")} to upload, ${plan.unchanged} unchanged`].join("\n");
  });
  reportFailures(context, plan.tooLarge);
}

/** Stdin goes to a temporary file first, so that it is compared, retried and limited like any other file. */
async function withStdin(terminal: Terminal, uri: string | undefined, put: (file: LocalFile) => Promise<void>) {
  if (uri === undefined) throw usageError("- (stdin) needs --uri");
  const folder = await mkdtemp(join(tmpdir(), "tenantry-"));
  try {
    const body = await readStdin(terminal);
    const file = join(folder, `stdin${extname(uri)}`);
    await writeFile(file, body);
    await put({ file, displayPath: "stdin", uri, name: uri, size: body.byteLength });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
