// Owns how long an answer may take and how large it may be. Infinity means no limit. Refuses to depend on what is
// asked.

export interface AnswerLimits {
  /** Until the head of the answer is there. */
  readonly headersMs: number;
  /** Between two pieces of the answer, while somebody waits for the next. */
  readonly silenceMs: number;
  /** From the request to the last byte. */
  readonly totalMs: number;
  /** How long a stream that has answered is waited for, so that its connection can serve again; 0 closes it at once. */
  readonly lingerMs: number;
  /** Of the body of one answer, as it is after decompression, over all connections that it takes. */
  readonly responseBytes: number;
  /** Of one message: a JSON body, or the data of one event. */
  readonly messageBytes: number;
  /** Of a stream, over all its connections. A line may be empty, and a few compressed bytes are millions of those. */
  readonly lines: number;
  /** How many more lines each second brings. */
  readonly linesPerSecond: number;
}

const MEBIBYTE = 1024 * 1024;

/** For requests that are answered once. A server that answers in JSON sends the head only when the work is done. */
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

/** For streams that stand open. After five silent minutes the connection is taken for dead and opened again. */
export const STREAM_LIMITS: AnswerLimits = {
  ...CALL_LIMITS,
  totalMs: Infinity,
  responseBytes: Infinity,
  linesPerSecond: 1000,
};
