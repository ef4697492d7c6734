// Owns bringing bodies to files so that it may be broken off anywhere and begun again: a file that already holds the
// body is not loaded again, and no file is ever seen half-written.

import { createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { createHash } from "node:crypto";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";
import { CliError, EXIT } from "../exit.ts";
import { fileError, isFileError } from "./file-error.ts";
import { forEachOf } from "./pool.ts";
import { makeParents, partBeside } from "./target-folder.ts";
import { unreachable } from "../terminal/problem.ts";
import { createProgressLine, type ProgressLine } from "../terminal/progress.ts";
import type { CommandContext } from "../command-context.ts";
import { sha256OfFile, type Stored, type StoredResources } from "./stored-resources.ts";
import { AT_ONCE } from "./upload.ts";

/** How often a body that changed while it was loaded is loaded again, before somebody is told. */
const TRIES = 5;

export interface WantedFile {
  /** As it was listed; afterwards, as it is in the file, where the body changed meanwhile. */
  stored: Pick<Stored, "uri" | "size" | "sha256">;
  /** The folder that the file must be in. */
  readonly root: string;
  readonly file: string;
}

export interface Loaded {
  readonly loaded: number;
  readonly unchanged: number;
}

export async function download(
  context: CommandContext,
  wanted: readonly WantedFile[],
  resources: StoredResources,
): Promise<Loaded> {
  const missing: WantedFile[] = [];
  await forEachOf(wanted, AT_ONCE, async (one) => {
    if (!(await isThere(one))) missing.push(one);
  });
  const total = missing.reduce((sum, { stored }) => sum + stored.size, 0);
  const output = context.json || context.quiet ? undefined : context.terminal.stderr;
  const progress = createProgressLine(output, { verb: "Downloading", files: missing.length, bytes: total });
  try {
    await forEachOf(missing, AT_ONCE, async (one) => {
      for (let left = TRIES - 1; !(await load(context, one, resources, progress)); left -= 1) {
        const now = await resources.find(one.stored.uri);
        if (!now || left === 0) throw changed(one.stored.uri);
        one.stored = now;
      }
      progress.addFile();
    });
  } finally {
    progress.end();
  }
  return { loaded: missing.length, unchanged: wanted.length - missing.length };
}

async function isThere({ stored, file }: WantedFile): Promise<boolean> {
  const about = await stat(file).catch(() => undefined);
  return about?.isFile() === true && about.size === stored.size && (await sha256OfFile(file)) === stored.sha256;
}

function changed(uri: string): CliError {
  return new CliError(EXIT.conflict, `${uri} changes while it is loaded: run the same command again`);
}

/** false: what came is not what was listed. */
async function load(
  context: CommandContext,
  { stored, root, file }: WantedFile,
  resources: StoredResources,
  progress: ProgressLine,
): Promise<boolean> {
  const part = partBeside(file);
  const response = await resources.get(stored.uri);
  try {
    await makeParents(root, file);
    const hash = await writeBody(response, part, progress, context.terminal.signal);
    if (hash !== stored.sha256) {
      await rm(part, { force: true });
      return false;
    }
    await rename(part, file);
    return true;
  } catch (error) {
    await rm(part, { force: true });
    if (error instanceof CliError) throw error;
    if (context.terminal.signal.aborted) throw new CliError(EXIT.interrupted, "interrupted", { cause: error });
    throw isFileError(error) ? fileError(error, file) : unreachable(error, context.api.base);
  }
}

/** Writes the body to the file. Returns the SHA-256 of what was written, in hex. */
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
