// What came of an odd server, by one way, and which of two outcomes is worse.

import { LISTS, type ListName, type OddRow, type Request } from "./odd-row.ts";

/** From worst to best. `partly`: something is listed, but not all that a server that works lists. */
const LISTINGS = ["none", "partly", "all"] as const;
export type Listing = (typeof LISTINGS)[number];

/** From worst to best. `words`: an error with the server's own. `other`: a result, but not what the server meant. */
const ANSWERS = ["hangs", "error", "words", "other", "went"] as const;
export type Answer = (typeof ANSWERS)[number];

export interface Outcome {
  readonly isConnected: boolean;
  readonly lists: Readonly<Record<ListName, Listing>>;
  readonly answers: Readonly<Partial<Record<Request, Answer>>>;
  /** As it was said, for whoever looks into a failure. */
  readonly said: readonly string[];
  /** Why the gateway lacks something of it, as operators and callers are told. */
  readonly why?: string | undefined;
}

type Part = "connection" | ListName | Request;

export const requestsOf = ({ also = [] }: OddRow): readonly Request[] => ["call", ...also];

function gradesOf({ isConnected, lists, answers }: Outcome): Map<Part, number> {
  return new Map<Part, number>([
    ["connection", isConnected ? 1 : 0],
    ...LISTS.map((list) => [list, LISTINGS.indexOf(lists[list])] as const),
    ...Object.entries(answers).map(([request, answer]) => [request as Request, ANSWERS.indexOf(answer)] as const),
  ]);
}

/** In which parts it is worse than each of the others. */
export function worseParts(outcome: Outcome, ...others: readonly Outcome[]): Part[] {
  const all = others.map(gradesOf);
  return [...gradesOf(outcome)]
    .filter(([part, grade]) => all.every((grades) => grade < (grades.get(part) ?? 0)))
    .map(([part]) => part);
}

/** Part by part. */
export function worseOf(one: Outcome, other: Outcome): Outcome {
  const least = <T extends string>(order: readonly T[], a: T, b: T): T => (order.indexOf(a) < order.indexOf(b) ? a : b);
  return {
    ...one,
    isConnected: one.isConnected && other.isConnected,
    lists: Object.fromEntries(
      LISTS.map((list) => [list, least(LISTINGS, one.lists[list], other.lists[list])]),
    ) as Outcome["lists"],
    answers: Object.fromEntries(
      Object.entries(one.answers).map(([request, answer]) => [
        request,
        least(ANSWERS, answer, other.answers[request as Request] ?? answer),
      ]),
    ),
    said: [...one.said, ...other.said],
  };
}

/** As a page shows it. */
export function cellOf({ isConnected, lists, answers }: Outcome, own?: ListName): string {
  const named = (list: ListName) => (list === own ? "list" : list);
  const parts = LISTS.filter((list) => lists[list] !== "all").map((list) =>
    lists[list] === "none" ? `no ${named(list)}` : `not all ${named(list)}`,
  );
  if (!isConnected) {
    const isTold = Object.values(answers).includes("words");
    return isTold ? "no connection, with the reason" : "no connection";
  }
  // What is not listed is not called.
  if (lists.tools !== "none") {
    for (const [request, answer] of Object.entries(answers)) if (answer !== "went") parts.push(SAID[answer](request));
  }
  return parts.length === 0 ? "works" : parts.join(", ");
}

const SAID: Readonly<Record<Exclude<Answer, "went">, (request: string) => string>> = {
  hangs: (request) => `${request} hangs`,
  error: (request) => `${request} fails`,
  words: (request) => `${request} fails, with the reason`,
  other: (request) => `${request} gives another result`,
};
