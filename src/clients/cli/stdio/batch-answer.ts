// Owns the one line that answers a batch: an array, written when the last of its requests is over. Refuses to wait for what gets
// no answer. https://modelcontextprotocol.io/specification/2025-03-26/basic#batching

export class BatchAnswer {
  readonly #write: (text: string) => Promise<void>;
  readonly #answers: string[] = [];
  #open = 1;

  constructor(write: (text: string) => Promise<void>) {
    this.#write = write;
  }

  /** One more that will be over: then it is told, with its answer or without one. */
  expect(): (text?: string) => Promise<void> {
    this.#open += 1;
    return async (text) => this.#over(text);
  }

  /** All that are to be answered are expected by now. */
  async seal(): Promise<void> {
    await this.#over();
  }

  async #over(text?: string): Promise<void> {
    if (text !== undefined) this.#answers.push(text);
    this.#open -= 1;
    if (this.#open === 0 && this.#answers.length > 0) await this.#write(`[${this.#answers.join()}]`);
  }
}
