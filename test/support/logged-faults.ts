// Reads errors out of the log of a Worker that is deployed, where each is one line of JSON.

/** As `logFault` writes it. */
export interface LoggedFault {
  readonly message: string;
  readonly tenant?: string;
  readonly profile?: string | null;
  readonly method?: string;
  readonly name?: string;
  readonly requestId?: string;
  readonly stack?: string;
  readonly cause?: string;
}

/** In the order of the log. */
export function loggedFaults(log: string): readonly LoggedFault[] {
  return log
    .split("\n")
    .filter((line) => line.startsWith('{"message":') && line.endsWith("}"))
    .map((line) => JSON.parse(line) as LoggedFault);
}
