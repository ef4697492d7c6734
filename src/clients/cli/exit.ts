// Owns how a command ends: the exit codes that scripts can rely on, and the one error that carries one.
// Its message is one line for a person; a stack is never shown.

export const EXIT = {
  ok: 0,
  refused: 1,
  usage: 2,
  notFound: 3,
  notAuthorised: 4,
  conflict: 5,
  unreachable: 6,
  differs: 7,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export class CliError extends Error {
  readonly exit: ExitCode;

  /** An empty message ends the command without another word. */
  constructor(exit: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exit = exit;
  }
}

export function usageError(message: string): CliError {
  return new CliError(EXIT.usage, message);
}

/** What a failed system call means, without the `ENOENT: ` and the name of the call. */
export function fileError(error: unknown, path: string): CliError {
  const code = (error as NodeJS.ErrnoException).code;
  const why = FILE_ERRORS[code ?? ""] ?? (error instanceof Error ? error.message : String(error));
  return new CliError(EXIT.usage, `${path}: ${why}`, { cause: error });
}

/** Of the disk, and not of the network. */
export function isFileError(error: unknown): boolean {
  return Object.hasOwn(FILE_ERRORS, (error as NodeJS.ErrnoException).code ?? "");
}

const FILE_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or folder",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EISDIR: "is a folder",
  ENOTDIR: "is not a folder",
  ENOSPC: "no space left on the disk",
  EROFS: "the disk is read-only",
  EMFILE: "too many open files",
  ENAMETOOLONG: "the name is too long",
};
