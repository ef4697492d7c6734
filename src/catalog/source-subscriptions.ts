// Tells sources which changes one stream listens for: when it starts, changes its filter or ends, and when the sources
// change.

import type { RequestScope } from "../handlers/request-scope.ts";
import type { NotificationFilter, Source } from "../protocol/source.ts";

export class SourceSubscriptions {
  #sources: readonly Source<RequestScope>[] = [];
  #requestScope: RequestScope | undefined;
  #filter: NotificationFilter | undefined;
  #unsubscribes: (() => void)[] = [];
  #isEnded = false;

  /** Replaces the sources. `requestScope`: the listener's scope from its last authorization. */
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

  /** Ends all subscriptions for good: a stream that learns its filter late must not start again after it was closed. */
  end(): void {
    this.#isEnded = true;
    this.#filter = undefined;
    this.#resubscribe();
  }

  /** Starts the new subscriptions before it ends the old ones, so that a source with both has no gap. */
  #resubscribe(): void {
    const previous = this.#unsubscribes;
    const [filter, host] = [this.#filter, this.#requestScope];
    this.#unsubscribes = filter && host ? this.#sources.flatMap((source) => source.interest?.(filter, host) ?? []) : [];
    for (const end of previous) end();
  }
}
