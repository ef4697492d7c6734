// Owns telling sources what one stream listens for: when it begins, when it wants something else, when it is over, and
// when the sources themselves are others. Refuses to know what they do about it.

import type { RequestScope } from "../handlers/request-scope.ts";
import type { NotificationFilter, Source } from "../protocol/source.ts";

export class SourceSubscriptions {
  #sources: readonly Source<RequestScope>[] = [];
  #requestScope: RequestScope | undefined;
  #filter: NotificationFilter | undefined;
  #unsubscribes: (() => void)[] = [];
  #isEnded = false;

  /** The sources from now on. `host`: whoever listens, as they were let in last. */
  setSources(sources: readonly Source<RequestScope>[], requestScope: RequestScope): void {
    if (this.#isEnded || sources === this.#sources) return;
    this.#sources = sources;
    this.#requestScope = requestScope;
    this.#resubscribe();
  }

  setFilter(filter: NotificationFilter): void {
    if (this.#isEnded) return;
    this.#filter = filter;
    this.#resubscribe();
  }

  /** For good: a stream that learns late what it wanted must not begin again after it was left. */
  end(): void {
    this.#isEnded = true;
    this.#filter = undefined;
    this.#resubscribe();
  }

  /** Begins the new interests before it ends the old ones, so that a source with both goes on without a break. */
  #resubscribe(): void {
    const previous = this.#unsubscribes;
    const [filter, host] = [this.#filter, this.#requestScope];
    this.#unsubscribes = filter && host ? this.#sources.flatMap((source) => source.interest?.(filter, host) ?? []) : [];
    for (const end of previous) end();
  }
}
