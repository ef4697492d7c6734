// A tenant as a folder: `tenant.yaml`, `bases/` (documents that it extends), `resources.ndjson` (one line for each
// resource) and the bodies under `resources/`. An index that points outside its folder is an error.

import { lstat, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { CliError, usageError } from "../exit.ts";
import { fileError } from "./file-error.ts";
import { fieldsOf, sha256, sha256OfFile, type ResourceFields, type ResourceInfo } from "./resource-client.ts";
import {
  isTemporaryFile,
  isInsideWithoutLinks,
  makeParents,
  temporaryPathFor,
  invalidNameReason,
} from "./target-folder.ts";
import type { UploadSource } from "./upload.ts";

export const TENANT_FILE = "tenant.yaml";
export const INDEX_FILE = "resources.ndjson";
export const BASES_FOLDER = "bases";
const BODIES_FOLDER = "resources";
const MAX_PART = 80;
const MAX_PARTS = 12;

export interface IndexEntry extends ResourceFields {
  readonly uri: string;
  /** Relative to the folder, with forward slashes. */
  readonly file: string;
  readonly size: number;
  readonly sha256: string;
}

export function toIndexEntry(stored: ResourceInfo, file: string): IndexEntry {
  return {
    uri: stored.uri,
    file,
    size: stored.size,
    sha256: stored.sha256,
    binary: stored.binary,
    lastModified: stored.lastModified,
    ...fieldsOf(stored),
  };
}

/** Maps each URI to a file name that is readable and valid on every file system. */
export function createFileNames(): (uri: string) => string {
  const files = new Set<string>();
  const folders = new Set<string>();
  return (uri) => {
    const readable = readableName(uri);
    const taken = files.has(readable) || folders.has(readable) || parentsOf(readable).some((name) => files.has(name));
    const name = taken ? `_${sha256(Buffer.from(uri)).slice(0, 32)}${extname(readable)}` : readable;
    files.add(name);
    for (const folder of parentsOf(name)) folders.add(folder);
    return `${BODIES_FOLDER}/${name}`;
  };
}

/** In lower case, because some file systems treat `A` and `a` as the same name. */
function readableName(uri: string): string {
  const parts = uri
    .replaceAll(/%[0-9A-F]{2}/gi, "_")
    .split(/[:/?#]+/)
    .filter((part) => part !== "")
    .map((part) => part.toLowerCase().replaceAll(/[^a-z0-9._-]/g, "_"))
    .map((part) => (/^\.|^_|\.$|^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/.test(part) ? `x${part}_` : part));
  const short = parts.length <= MAX_PARTS && parts.every((part) => part.length <= MAX_PART);
  return short && parts.length > 0 ? parts.join("/") : `_${sha256(Buffer.from(uri)).slice(0, 32)}`;
}

function parentsOf(name: string): string[] {
  const parts = name.split("/").slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join("/"));
}

/** Whether the folder holds an export or something else; undefined if it is missing or empty. */
export async function detectExport(folder: string): Promise<"export" | "other" | undefined> {
  const names = await readdir(folder).catch((error: unknown): string[] => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw fileError(error, folder);
  });
  if (names.length === 0) return undefined;
  if ([TENANT_FILE, INDEX_FILE].some((name) => names.includes(name))) return "export";
  // An interrupted export has only these. Any other entry may mean that the files are the user's own.
  return names.every((name) => [BODIES_FOLDER, BASES_FOLDER].includes(name) || isTemporaryFile(name))
    ? "export"
    : "other";
}

export function pathExists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

export async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

/** undefined if the folder has no index. */
export async function readIndex(folder: string): Promise<IndexEntry[] | undefined> {
  const file = join(folder, INDEX_FILE);
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw fileError(error, file);
  });
  return text
    ?.split("\n")
    .flatMap((line, index) => (line.trim() === "" ? [] : [parseEntry(line, `${file}:${index + 1}`)]));
}

function parseEntry(line: string, location: string): IndexEntry {
  const entry = parseJsonLine(line, location);
  const { uri, file, name, mimeType, tags = [], lastModified = "" } = entry ?? {};
  if (typeof uri !== "string" || typeof name !== "string" || typeof mimeType !== "string") {
    throw usageError(`${location}: uri, file, name and mimeType must be strings`);
  }
  if (typeof file !== "string" || !isSafePath(file))
    throw usageError(`${location}: file: must be a path within the folder`);
  if (!Array.isArray(tags)) throw usageError(`${location}: tags: must be a list`);
  if (typeof lastModified !== "string") throw usageError(`${location}: lastModified: must be a string`);
  return { size: 0, sha256: "", ...entry, uri, file, name, mimeType, tags };
}

function parseJsonLine(line: string, location: string): Partial<IndexEntry> | null {
  try {
    return JSON.parse(line) as Partial<IndexEntry> | null;
  } catch {
    throw usageError(`${location}: is not JSON`);
  }
}

function isSafePath(file: string): boolean {
  // The index may be written by hand, so names that start with a dot are allowed.
  return file.split("/").every((part) => invalidNameReason(part, { hidden: true }) === undefined);
}

/**
 * The files of an export, as uploads. A file edited since then does not keep its exported time. `rejectsLinks`:
 * refuse symbolic links, which could lead to files that no one meant to upload.
 */
export async function readSources(folder: string, rejectsLinks = false): Promise<UploadSource[] | undefined> {
  const entries = await readIndex(folder);
  if (entries === undefined) return undefined;
  const sources: UploadSource[] = [];
  for (const entry of entries) {
    const { uri, file: relative, size, sha256: exported, lastModified, ...fields } = entry;
    const file = join(folder, ...relative.split("/"));
    if (rejectsLinks) await assertNoLinks(folder, file);
    const stats = await stat(file).catch((error: unknown) => {
      throw fileError(error, file);
    });
    const isUnedited = lastModified !== undefined && stats.size === size && (await sha256OfFile(file)) === exported;
    const exportedInfo = isUnedited ? { sha256: exported, fields: { ...fields, lastModified } } : { fields };
    sources.push({ uri, file, displayPath: file, size: stats.size, ...exportedInfo });
  }
  const uris = new Set<string>();
  for (const { uri } of sources) {
    if (uris.has(uri)) throw usageError(`${join(folder, INDEX_FILE)}: ${uri} appears twice`);
    uris.add(uri);
  }
  return sources;
}

async function assertNoLinks(folder: string, file: string): Promise<void> {
  const stats = await lstat(file).catch((error: unknown) => {
    throw fileError(error, file);
  });
  const isPlainFile = stats.isFile() && (await isInsideWithoutLinks(folder, file));
  if (!isPlainFile) throw usageError(`${file}: must be a file, and not a link or inside a linked folder`);
}

/** Writes to a temporary file and renames it, so that no reader sees half of the content. */
export async function writeAtomically(root: string, file: string, content: string | Uint8Array): Promise<void> {
  const temporary = temporaryPathFor(file);
  try {
    await makeParents(root, file);
    await writeFile(temporary, content, { flag: "wx" });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error instanceof CliError ? error : fileError(error, file);
  }
}

/**
 * Deletes files of an earlier export that are not part of this one. Paths through links are skipped: an export
 * writes no links.
 */
export async function removeStale(
  folder: string,
  previousEntries: readonly IndexEntry[],
  currentEntries: readonly IndexEntry[],
): Promise<void> {
  const current = new Set(currentEntries.map(({ file }) => file));
  for (const { file: relative } of previousEntries) {
    const file = join(folder, ...relative.split("/"));
    if (!current.has(relative) && (await isInsideWithoutLinks(folder, file))) await rm(file, { force: true });
  }
}
