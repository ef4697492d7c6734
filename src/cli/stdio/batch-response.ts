// Owns the one line that answers a batch: an array, written when the last of its requests is over. Refuses to wait for what gets
// no answer. https://modelcontextprotocol.io/specification/2025-03-26/basic#batching

export class BatchResponse {
  readonly #write: (text: string) => Promise<void>;
  readonly #responses: string[] = [];
  #pending = 1;

  constructor(write: (text: string) => Promise<void>) {
    this.#write = write;
  }

  /** One more that will be over: then it is told, with its answer or without one. */
  expect(): (text?: string) => Promise<void> {
    this.#pending += 1;
    return async (text) => this.#complete(text);
  }

  /** All that are to be answered are expected by now. */
  async close(): Promise<void> {
    await this.#complete();
  }

  async #complete(text?: string): Promise<void> {
    if (text !== undefined) this.#responses.push(text);
    this.#pending -= 1;
    if (this.#pending === 0 && this.#responses.length > 0) await this.#write(`[${this.#responses.join()}]`);
  }
}
