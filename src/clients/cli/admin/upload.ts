// Owns bringing files to a tenant so that it may be broken off anywhere and begun again: what is there already is not
// sent twice, and what somebody else changed in the meantime is not overwritten.

import { CliError, EXIT, type ExitCode } from "../exit.ts";
import { fileError } from "./file-error.ts";
import { forEachOf } from "./pool.ts";
import { ServerRefused } from "../terminal/problem.ts";
import { createProgressLine, type ProgressLine } from "../terminal/progress.ts";
import type { CommandContext } from "../command-context.ts";
import {
  bodyOfFile,
  sameFields,
  sha256OfFile,
  type Fields,
  type Stored,
  type StoredResources,
} from "./stored-resources.ts";
import { bytes, count } from "../terminal/table.ts";

export const AT_ONCE = 6;
/** The most that the admin API takes, known here so that nobody waits for an upload that is refused. */
export const MAX_UPLOAD_BYTES = 25 * 1024 * 1024;

export interface UploadSource {
  readonly uri: string;
  /** The path as the person wrote it, for messages. */
  readonly shown: string;
  readonly file: string;
  readonly size: number;
  /** The hash of the file, where somebody has computed it before. */
  readonly sha256?: string;
  readonly fields: Fields;
}

export interface PlannedUpload {
  readonly source: UploadSource;
  readonly stored: Stored | undefined;
}

export interface UploadPlan {
  readonly uploads: readonly PlannedUpload[];
  readonly unchanged: number;
  readonly tooLarge: readonly Failed[];
}

export interface Failed {
  readonly uri: string;
  readonly error: string;
  readonly exit: ExitCode;
}

export interface Report {
  readonly uploaded: number;
  readonly unchanged: number;
  readonly failed: readonly Failed[];
}

/** Compares files with what is stored and sends nothing. Only a file of the stored size is read: the others differ. */
export async function planUpload(
  sources: readonly UploadSource[],
  stored: ReadonlyMap<string, Stored>,
): Promise<UploadPlan> {
  const uploads: PlannedUpload[] = [];
  const tooLarge: Failed[] = [];
  let unchanged = 0;
  await forEachOf(sources, AT_ONCE, async (source) => {
    const there = stored.get(source.uri);
    if (source.size > MAX_UPLOAD_BYTES) tooLarge.push(oversized(source));
    else if (there && (await isSame(source, there))) unchanged += 1;
    else uploads.push({ source, stored: there });
  });
  uploads.sort((a, b) => (a.source.uri < b.source.uri ? -1 : 1));
  return { uploads, unchanged, tooLarge };
}

function oversized({ uri, shown, size }: UploadSource): Failed {
  const error = `${shown}: ${bytes(size)}, a resource has at most ${bytes(MAX_UPLOAD_BYTES)}`;
  return { uri, error, exit: EXIT.refused };
}

async function isSame({ file, shown, size, sha256, fields }: UploadSource, stored: Stored): Promise<boolean> {
  if (size !== stored.size || !sameFields(stored, fields)) return false;
  try {
    return (sha256 ?? (await sha256OfFile(file))) === stored.sha256;
  } catch (error) {
    throw fileError(error, shown);
  }
}

interface Sending {
  readonly resources: StoredResources;
  readonly progress: ProgressLine;
  /** Uploads without the condition that nobody else has changed the resource. */
  readonly force: boolean;
}

export async function runUpload(
  context: CommandContext,
  plan: UploadPlan,
  resources: StoredResources,
  force = false,
): Promise<Report> {
  const { uploads } = plan;
  const failed = [...plan.tooLarge];
  let uploaded = 0;
  let unchanged = plan.unchanged;
  const total = uploads.reduce((sum, { source }) => sum + source.size, 0);
  const output = context.json || context.quiet ? undefined : context.terminal.stderr;
  const progress = createProgressLine(output, { verb: "Uploading", files: uploads.length, bytes: total });
  const sending = { resources, progress, force };
  try {
    await forEachOf(uploads, AT_ONCE, async (upload) => {
      const end = await uploadOne(upload, sending);
      if (end === "sent") uploaded += 1;
      else if (end === "present") unchanged += 1;
      else failed.push(end);
      progress.addFile();
    });
  } catch (error) {
    progress.end();
    throw brokenOff(error, uploaded + unchanged, uploads.length + plan.unchanged);
  }
  progress.end();
  return { uploaded, unchanged, failed };
}

/** A refusal of this one file is its result. Any other error is thrown: it would happen again with the next file. */
async function uploadOne(upload: PlannedUpload, sending: Sending): Promise<"sent" | "present" | Failed> {
  const { source, stored } = upload;
  const { uri, shown } = source;
  const condition = sending.force ? {} : stored ? { "if-match": stored.etag } : { "if-none-match": "*" };
  const body = bodyOfFile(source.file, source.size, (sent) => sending.progress.addBytes(sent));
  try {
    await sending.resources.put(uri, source.fields, { ...body, mimeType: source.fields.mimeType }, condition);
    return "sent";
  } catch (error) {
    if (!(error instanceof ServerRefused) || !concernsOneFile(error.status)) throw error;
    if (error.status === 412) return settleConflict(source, sending.resources);
    return { uri, error: `${shown}: ${error.message}`, exit: error.exit };
  }
}

/** Statuses that every other file would get too. */
const FOR_ALL = new Set([401, 403, 404, 429]);

function concernsOneFile(status: number): boolean {
  return status < 500 && !FOR_ALL.has(status);
}

/** Somebody stored the resource meanwhile. It may have been us: an earlier run, or a request whose answer was lost. */
async function settleConflict(source: UploadSource, resources: StoredResources): Promise<"present" | Failed> {
  const now = await resources.find(source.uri);
  if (now && (await isSame(source, now))) return "present";
  const error = `${source.shown}: ${source.uri} was changed by somebody else meanwhile; --force overwrites it`;
  return { uri: source.uri, error, exit: EXIT.conflict };
}

function brokenOff(error: unknown, done: number, all: number): unknown {
  if (!(error instanceof CliError)) return error;
  const where = `${done} of ${all} are stored, the same command again sends the rest`;
  return new CliError(error.exit, `${error.message} (${where})`, { cause: error });
}

export function reportText({ uploaded, unchanged, failed }: Report): string {
  const all = uploaded + unchanged + failed.length;
  const failures = failed.length === 0 ? "" : `, ${failed.length} failed`;
  return `${count(all, "file")}: ${uploaded} uploaded, ${unchanged} unchanged${failures}`;
}

/** Prints every failure; the exit code is that of the first one. */
export function endWith(context: CommandContext, failed: readonly Failed[]): void {
  for (const { error } of failed.slice(1)) context.note(`tenantry: ${error}`);
  const [first] = failed;
  if (first) throw new CliError(first.exit, first.error);
}
