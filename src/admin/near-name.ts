// Owns what is offered in place of a name that is none, where a tenant may have written both it and all that there are: comparing
// takes time, in which everybody waits. Refuses to look at all of very many, or at long ones.

import { nearest } from "../protocol/nearest.ts";

const MOST_KNOWN = 2000;
const LONGEST = 64;

export function nearName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > LONGEST) return undefined;
  const short = [...known].slice(0, MOST_KNOWN).filter(({ length }) => length <= LONGEST);
  return nearest(name, short);
}
