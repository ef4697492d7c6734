// Downloads bodies to files, and can be interrupted and repeated at any time. Existing files with the same body are
// skipped, and no file is ever half-written.

import { createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { createHash } from "node:crypto";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";
import { CliError, EXIT } from "../exit.ts";
import { fileError, isFileError } from "./file-error.ts";
import { forEachConcurrent } from "./for-each-concurrent.ts";
import { makeParents, temporaryPathFor } from "./target-folder.ts";
import { unreachableError } from "../terminal/server-error.ts";
import { createProgressLine, type ProgressLine } from "../terminal/progress.ts";
import type { CommandContext } from "../command-context.ts";
import { sha256OfFile, type ResourceInfo, type ResourceClient } from "./resource-client.ts";
import { TRANSFER_CONCURRENCY } from "./upload.ts";

/** The most downloads of a body that changes meanwhile. */
const MAX_TRIES = 5;

export interface DownloadFile {
  /** The resource as listed; after the download, as stored in the file. */
  stored: Pick<ResourceInfo, "uri" | "size" | "sha256">;
  /** The folder that must contain the file. */
  readonly root: string;
  readonly file: string;
}

export interface DownloadResult {
  readonly loaded: number;
  readonly unchanged: number;
}

export async function download(
  context: CommandContext,
  files: readonly DownloadFile[],
  resources: ResourceClient,
): Promise<DownloadResult> {
  const missing: DownloadFile[] = [];
  await forEachConcurrent(files, TRANSFER_CONCURRENCY, async (wantedFile) => {
    if (!(await isUpToDate(wantedFile))) missing.push(wantedFile);
  });
  const total = missing.reduce((sum, { stored }) => sum + stored.size, 0);
  const output = context.json || context.quiet ? undefined : context.terminal.stderr;
  const progress = createProgressLine(output, { verb: "Downloading", files: missing.length, bytes: total });
  try {
    await forEachConcurrent(missing, TRANSFER_CONCURRENCY, async (wantedFile) => {
      for (
        let triesLeft = MAX_TRIES - 1;
        !(await downloadFile(context, wantedFile, resources, progress));
        triesLeft -= 1
      ) {
        const current = await resources.find(wantedFile.stored.uri);
        if (!current || triesLeft === 0) throw changedError(wantedFile.stored.uri);
        wantedFile.stored = current;
      }
      progress.addFile();
    });
  } finally {
    progress.end();
  }
  return { loaded: missing.length, unchanged: files.length - missing.length };
}

async function isUpToDate({ stored, file }: DownloadFile): Promise<boolean> {
  const stats = await stat(file).catch(() => undefined);
  return stats?.isFile() === true && stats.size === stored.size && (await sha256OfFile(file)) === stored.sha256;
}

function changedError(uri: string): CliError {
  return new CliError(EXIT.conflict, `${uri} changed during the download: run the same command again`);
}

/** false: the body differs from the listing. */
async function downloadFile(
  context: CommandContext,
  { stored, root, file }: DownloadFile,
  resources: ResourceClient,
  progress: ProgressLine,
): Promise<boolean> {
  const temporary = temporaryPathFor(file);
  const response = await resources.get(stored.uri);
  try {
    await makeParents(root, file);
    const hash = await writeBody(response, temporary, progress, context.terminal.signal);
    if (hash !== stored.sha256) {
      await rm(temporary, { force: true });
      return false;
    }
    await rename(temporary, file);
    return true;
  } catch (error) {
    await rm(temporary, { force: true });
    if (error instanceof CliError) throw error;
    if (context.terminal.signal.aborted) throw new CliError(EXIT.interrupted, "interrupted", { cause: error });
    throw isFileError(error) ? fileError(error, file) : unreachableError(error, context.api.base);
  }
}

/** Writes the body to the file. Returns its SHA-256 in hex. */
async function writeBody(
  response: Response,
  file: string,
  progress: ProgressLine,
  signal: AbortSignal,
): Promise<string> {
  const hash = createHash("sha256");
  const watch = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      progress.addBytes(chunk.byteLength);
      done(null, chunk);
    },
  });
  const body = response.body as NodeReadableStream<Uint8Array> | null;
  await pipeline(body ? Readable.fromWeb(body) : Readable.from([]), watch, createWriteStream(file, { flags: "wx" }), {
    signal,
  });
  return hash.digest("hex");
}
