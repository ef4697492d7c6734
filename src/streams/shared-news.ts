// Owns what one stream of an isolate was told that it had missed, for the others that missed the same when their hub was
// reset. Values, no promises: who finds nothing asks.

import { RecentMap } from "../limits/recent-map.ts";
import type { Heard } from "./feed.ts";
import type { Versions } from "./pending.ts";

const MOST = 64;

export class SharedNews {
  readonly #news = new RecentMap<{ readonly since: Versions; readonly heard: Heard }>(MOST);

  /** What changed after `since`, if it was asked by somebody to whom it reached as far as `told`. `kept`: of which tenant. */
  find(kept: string, since: Versions, told: Versions): Heard | undefined {
    const known = this.#news.get(kept);
    const isIt =
      known?.since.definitions === since.definitions &&
      known.since.content === since.content &&
      known.heard.definitions.version >= told.definitions &&
      known.heard.content.version >= told.content;
    return isIt ? known.heard : undefined;
  }

  keep(kept: string, since: Versions, heard: Heard): void {
    this.#news.set(kept, { since: { ...since }, heard });
  }
}
