// Owns letting go of the calls in which an error arose. Refuses to change what the error says.

/**
 * For an error that a stream of the platform was broken by. The stream keeps it for good, and until its stack is asked for,
 * the error keeps every `this` and closure of the calls that waited: one that has the stream's reader keeps the stream in
 * return, and all of the request with it. A collection does not see through that (docs/decisions/0055).
 */
export function dropFrames(error: unknown): void {
  void (error as Partial<Error> | undefined)?.stack;
}
