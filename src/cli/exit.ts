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

  /** With an empty message nothing is printed: the command has said what there is to say. */
  constructor(exit: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exit = exit;
  }
}

export function usageError(message: string): CliError {
  return new CliError(EXIT.usage, message);
}
