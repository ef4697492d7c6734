// Suggests the closest known name. Bounded, because a tenant may have written both sides and the comparison blocks
// the isolate: long names and long lists are skipped.

import { nearestName } from "../protocol/did-you-mean.ts";

const MAX_CANDIDATES = 2000;
const MAX_NAME_LENGTH = 64;

export function suggestName(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > MAX_NAME_LENGTH) return undefined;
  const shortCandidates = [...candidates].slice(0, MAX_CANDIDATES).filter(({ length }) => length <= MAX_NAME_LENGTH);
  return nearestName(name, shortCandidates);
}
