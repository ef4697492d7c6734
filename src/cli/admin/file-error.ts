// File system errors in words for people: a path and a reason.

import { CliError, EXIT } from "../exit.ts";

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or folder",
  EEXIST: "a file of this name already exists",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EISDIR: "is a folder",
  ENOTDIR: "is not a folder",
  ENOSPC: "no space left on the disk",
  EROFS: "the disk is read-only",
  EMFILE: "too many open files",
  ENAMETOOLONG: "the name is too long",
};

export function fileError(error: unknown, path: string): CliError {
  const why = REASONS[codeOf(error)] ?? (error instanceof Error ? error.message : String(error));
  return new CliError(EXIT.usage, `${path}: ${why}`, { cause: error });
}

/** Tells an error of the file system from one of the network. */
export function isFileError(error: unknown): boolean {
  return Object.hasOwn(REASONS, codeOf(error));
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}
