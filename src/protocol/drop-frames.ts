/**
 * Releases the stack frames of an error with which a platform stream was broken. The stream keeps the error for good.
 * Until its stack is read, the error keeps every `this` and closure of the waiting calls. One that holds the stream's
 * reader keeps the stream in turn, and with it the whole request. Garbage collection cannot break this cycle.
 */
export function dropFrames(error: unknown): void {
  void (error as Partial<Error> | undefined)?.stack;
}
