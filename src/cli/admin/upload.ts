// Uploads files to a tenant, and can be interrupted and repeated at any time. Resources that are already there are
// skipped, and changes by others are not overwritten.

import { CliError, EXIT, type ExitCode } from "../exit.ts";
import { fileError } from "./file-error.ts";
import { forEachConcurrent } from "./for-each-concurrent.ts";
import { ResponseError } from "../terminal/server-error.ts";
import { createProgressLine, type ProgressLine } from "../terminal/progress.ts";
import type { CommandContext } from "../command-context.ts";
import {
  bodyOfFile,
  hasSameFields,
  sha256OfFile,
  type ResourceFields,
  type ResourceInfo,
  type ResourceClient,
} from "./resource-client.ts";
import { formatBytes, formatCount } from "../terminal/table.ts";

export const TRANSFER_CONCURRENCY = 6;
/** The size limit of the admin API, checked here before the upload starts. */
const MAX_UPLOAD_BYTES = 25 * 1024 * 1024;

export interface UploadSource {
  readonly uri: string;
  /** The path as the user wrote it, for messages. */
  readonly displayPath: string;
  readonly file: string;
  readonly size: number;
  /** The hash of the file, if already computed. */
  readonly sha256?: string;
  readonly fields: ResourceFields;
}

export interface PlannedUpload {
  readonly source: UploadSource;
  readonly stored: ResourceInfo | undefined;
}

export interface UploadPlan {
  readonly uploads: readonly PlannedUpload[];
  readonly unchanged: number;
  readonly tooLarge: readonly UploadFailure[];
}

export interface UploadFailure {
  readonly uri: string;
  readonly error: string;
  readonly exit: ExitCode;
}

export interface UploadReport {
  readonly uploaded: number;
  readonly unchanged: number;
  readonly failed: readonly UploadFailure[];
}

/**
 * Compares files with the stored resources and sends nothing. Reads only files of the stored size, because others
 * differ.
 */
export async function planUpload(
  sources: readonly UploadSource[],
  stored: ReadonlyMap<string, ResourceInfo>,
): Promise<UploadPlan> {
  const uploads: PlannedUpload[] = [];
  const tooLarge: UploadFailure[] = [];
  let unchanged = 0;
  await forEachConcurrent(sources, TRANSFER_CONCURRENCY, async (source) => {
    const existing = stored.get(source.uri);
    if (source.size > MAX_UPLOAD_BYTES) tooLarge.push(tooLargeFailure(source));
    else if (existing && (await isUnchanged(source, existing))) unchanged += 1;
    else uploads.push({ source, stored: existing });
  });
  uploads.sort((a, b) => (a.source.uri < b.source.uri ? -1 : 1));
  return { uploads, unchanged, tooLarge };
}

function tooLargeFailure({ uri, displayPath, size }: UploadSource): UploadFailure {
  const error = `${displayPath}: ${formatBytes(size)}, a resource has at most ${formatBytes(MAX_UPLOAD_BYTES)}`;
  return { uri, error, exit: EXIT.refused };
}

async function isUnchanged(
  { file, displayPath, size, sha256, fields }: UploadSource,
  stored: ResourceInfo,
): Promise<boolean> {
  if (size !== stored.size || !hasSameFields(stored, fields)) return false;
  try {
    return (sha256 ?? (await sha256OfFile(file))) === stored.sha256;
  } catch (error) {
    throw fileError(error, displayPath);
  }
}

interface UploadContext {
  readonly resources: ResourceClient;
  readonly progress: ProgressLine;
  /** Omits the condition that no one else has changed the resource. */
  readonly force: boolean;
}

export async function runUpload(
  context: CommandContext,
  plan: UploadPlan,
  resources: ResourceClient,
  force = false,
): Promise<UploadReport> {
  const { uploads } = plan;
  const failed = [...plan.tooLarge];
  let uploaded = 0;
  let unchanged = plan.unchanged;
  const total = uploads.reduce((sum, { source }) => sum + source.size, 0);
  const output = context.json || context.quiet ? undefined : context.terminal.stderr;
  const progress = createProgressLine(output, { verb: "Uploading", files: uploads.length, bytes: total });
  const uploadContext = { resources, progress, force };
  try {
    await forEachConcurrent(uploads, TRANSFER_CONCURRENCY, async (upload) => {
      const outcome = await uploadOne(upload, uploadContext);
      if (outcome === "sent") uploaded += 1;
      else if (outcome === "present") unchanged += 1;
      else failed.push(outcome);
      progress.addFile();
    });
  } catch (error) {
    progress.end();
    throw withUploadCount(error, uploaded + unchanged, uploads.length + plan.unchanged);
  }
  progress.end();
  return { uploaded, unchanged, failed };
}

/**
 * An error about this one file is its result. Other errors are thrown, because every further file would meet them,
 * too.
 */
async function uploadOne(
  upload: PlannedUpload,
  uploadContext: UploadContext,
): Promise<"sent" | "present" | UploadFailure> {
  const { source, stored } = upload;
  const { uri, displayPath } = source;
  const condition = uploadContext.force ? {} : stored ? { "if-match": stored.etag } : { "if-none-match": "*" };
  const body = bodyOfFile(source.file, source.size, (sent) => uploadContext.progress.addBytes(sent));
  try {
    await uploadContext.resources.put(uri, source.fields, { ...body, mimeType: source.fields.mimeType }, condition);
    return "sent";
  } catch (error) {
    if (!(error instanceof ResponseError) || !concernsOneFile(error.status)) throw error;
    if (error.status === 412) return resolveConflict(source, uploadContext.resources);
    return { uri, error: `${displayPath}: ${error.message}`, exit: error.exit };
  }
}

/** Statuses that every other file would get, too. */
const GENERAL_STATUSES = new Set([401, 403, 404, 429]);

function concernsOneFile(status: number): boolean {
  return status < 500 && !GENERAL_STATUSES.has(status);
}

/** Another writer stored the resource meanwhile. That may be an earlier run, or a request whose answer was lost. */
async function resolveConflict(source: UploadSource, resources: ResourceClient): Promise<"present" | UploadFailure> {
  const current = await resources.find(source.uri);
  if (current && (await isUnchanged(source, current))) return "present";
  const error = `${source.displayPath}: ${source.uri} was changed by somebody else meanwhile; --force overwrites it`;
  return { uri: source.uri, error, exit: EXIT.conflict };
}

function withUploadCount(error: unknown, done: number, all: number): unknown {
  if (!(error instanceof CliError)) return error;
  const countText = `${done} of ${all} are stored; run the same command again to send the rest`;
  return new CliError(error.exit, `${error.message} (${countText})`, { cause: error });
}

export function reportText({ uploaded, unchanged, failed }: UploadReport): string {
  const all = uploaded + unchanged + failed.length;
  const failures = failed.length === 0 ? "" : `, ${failed.length} failed`;
  return `${formatCount(all, "file")}: ${uploaded} uploaded, ${unchanged} unchanged${failures}`;
}

/** Prints every failure; the exit code is that of the first one. */
export function reportFailures(context: CommandContext, failed: readonly UploadFailure[]): void {
  for (const { error } of failed.slice(1)) context.note(`tenantry: ${error}`);
  const [first] = failed;
  if (first) throw new CliError(first.exit, first.error);
}
