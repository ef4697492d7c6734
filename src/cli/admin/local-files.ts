// Local files as resources: the files of a folder with their URIs, and the way back through a target folder.

import { readdir, stat } from "node:fs/promises";
import { basename, join, relative, resolve, sep } from "node:path";
import { usageError } from "../exit.ts";
import { fileError } from "./file-error.ts";
import type { TargetFolder } from "./target-folder.ts";

export interface LocalFile {
  /** The path as the user wrote it, for messages. */
  readonly displayPath: string;
  readonly file: string;
  readonly uri: string;
  readonly name: string;
  readonly size: number;
}

export interface FileScan {
  readonly files: readonly LocalFile[];
  readonly hidden: number;
}

export interface FileScanOptions {
  readonly cwd: string;
  readonly prefix: string;
  readonly hidden: boolean;
}

/** All files under the paths, in URI order. Paths inside a folder are relative to that folder. */
export async function findFiles(paths: readonly string[], options: FileScanOptions): Promise<FileScan> {
  const files: LocalFile[] = [];
  let hidden = 0;
  for (const path of paths) {
    const root = resolve(options.cwd, path);
    const stats = await statOf(root, path);
    if (!stats.isDirectory()) {
      files.push(toLocalFile({ file: root, displayPath: path, size: stats.size }, basename(root), options.prefix));
      continue;
    }
    const scan = await scanFolder(root, options.hidden);
    hidden += scan.hidden;
    for (const { file, size } of scan.files) {
      const inside = relative(root, file).split(sep).join("/");
      files.push(toLocalFile({ file, displayPath: join(path, inside), size }, inside, options.prefix));
    }
  }
  files.sort((a, b) => (a.uri < b.uri ? -1 : 1));
  rejectDuplicates(files);
  return { files, hidden };
}

function toLocalFile(
  stats: { file: string; displayPath: string; size: number },
  path: string,
  prefix: string,
): LocalFile {
  return { ...stats, uri: uriOf(prefix, path), name: path.normalize("NFC") };
}

/** The same folder must give the same URIs on every system, but some systems decompose characters in file names. */
export function uriOf(prefix: string, path: string): string {
  try {
    return prefix + path.normalize("NFC").split("/").map(encodeURIComponent).join("/");
  } catch {
    throw usageError(`${path}: the name is not well-formed Unicode`);
  }
}

async function statOf(file: string, displayPath: string) {
  try {
    return await stat(file);
  } catch (error) {
    throw fileError(error, displayPath);
  }
}

/** Follows links to files, but not links to folders, which may form a cycle. */
async function scanFolder(
  folder: string,
  withHidden: boolean,
): Promise<{ files: { file: string; size: number }[]; hidden: number }> {
  const files: { file: string; size: number }[] = [];
  let hidden = 0;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const file = join(folder, entry.name);
    if (entry.name.startsWith(".") && !withHidden) {
      hidden += 1;
    } else if (entry.isDirectory()) {
      const inside = await scanFolder(file, withHidden);
      files.push(...inside.files);
      hidden += inside.hidden;
    } else {
      const stats = await statOf(file, file);
      if (stats.isFile()) files.push({ file, size: stats.size });
    }
  }
  return { files, hidden };
}

function rejectDuplicates(files: readonly LocalFile[]): void {
  const duplicate = files.findIndex((file, at) => file.uri === files[at - 1]?.uri);
  if (duplicate < 0) return;
  throw usageError(
    `${files[duplicate - 1]?.displayPath} and ${files[duplicate]?.displayPath} would both have the URI ${files[duplicate]?.uri}`,
  );
}

/** The file for a URI. Throws if the URI cannot be a path. */
export function fileOf(target: TargetFolder, prefix: string, uri: string): string {
  return target.fileFor(uri, decode(uri.slice(prefix.length)).replace(/^\/+/, "").split("/"));
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
