// Limits on the duration and size of an answer. Infinity means no limit.

export interface AnswerLimits {
  /** Milliseconds until the response headers arrive. */
  readonly headersMs: number;
  /** Milliseconds between two chunks of the body while a reader waits. */
  readonly silenceMs: number;
  /** Milliseconds from the request to the last byte. */
  readonly totalMs: number;
  /**
   * How long to wait, after the response, for the server to end its stream, so that the connection can be reused. 0
   * closes the stream at once.
   */
  readonly lingerMs: number;
  /** Bytes of one answer's body after decompression, over all its connections. */
  readonly responseBytes: number;
  /** Bytes of one message: a JSON body, or the data of one event. */
  readonly messageBytes: number;
  /**
   * Lines of a stream, over all its connections. A line may be empty, and a few compressed bytes can be millions of
   * empty lines.
   */
  readonly lines: number;
  /** Additional lines per second. */
  readonly linesPerSecond: number;
}

const MEBIBYTE = 1024 * 1024;

/** For requests with one answer. A server that answers in JSON sends the headers only when the work is done. */
export const CALL_LIMITS: AnswerLimits = {
  headersMs: 60_000,
  silenceMs: 300_000,
  totalMs: 300_000,
  lingerMs: 0,
  responseBytes: 32 * MEBIBYTE,
  messageBytes: 8 * MEBIBYTE,
  lines: 400_000,
  linesPerSecond: 0,
};

/** For long-lived streams. After five silent minutes the connection counts as dead and is reopened. */
export const STREAM_LIMITS: AnswerLimits = {
  ...CALL_LIMITS,
  totalMs: Infinity,
  responseBytes: Infinity,
  linesPerSecond: 1000,
};
