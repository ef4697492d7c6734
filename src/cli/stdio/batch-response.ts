// The answer to a batch: one array on one line, written once the last request ends. Messages without an answer are
// not waited for. https://modelcontextprotocol.io/specification/2025-03-26/basic#batching

export class BatchResponse {
  readonly #write: (text: string) => Promise<void>;
  readonly #responses: string[] = [];
  #pending = 1;

  constructor(write: (text: string) => Promise<void>) {
    this.#write = write;
  }

  /** Registers a request. Call the returned function when the request ends, with its answer or without one. */
  expect(): (text?: string) => Promise<void> {
    this.#pending += 1;
    return async (text) => this.#complete(text);
  }

  /** Call once all requests are registered. */
  async close(): Promise<void> {
    await this.#complete();
  }

  async #complete(text?: string): Promise<void> {
    if (text !== undefined) this.#responses.push(text);
    this.#pending -= 1;
    if (this.#pending === 0 && this.#responses.length > 0) await this.#write(`[${this.#responses.join()}]`);
  }
}
