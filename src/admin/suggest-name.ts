// Owns what is offered in place of a name that is none, where a tenant may have written both it and all that there are: comparing
// takes time, in which everybody waits. Refuses to look at all of very many, or at long ones.

import { nearestName } from "../protocol/did-you-mean.ts";

const MAX_CANDIDATES = 2000;
const MAX_NAME_LENGTH = 64;

export function suggestName(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > MAX_NAME_LENGTH) return undefined;
  const shortCandidates = [...candidates].slice(0, MAX_CANDIDATES).filter(({ length }) => length <= MAX_NAME_LENGTH);
  return nearestName(name, shortCandidates);
}
