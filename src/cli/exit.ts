// The exit codes that scripts can rely on, and the error that carries one. Its message is one line for a person;
// stacks are never shown.

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

  /** An empty message prints nothing: the command has printed its own. */
  constructor(exit: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exit = exit;
  }
}

export function usageError(message: string): CliError {
  return new CliError(EXIT.usage, message);
}
