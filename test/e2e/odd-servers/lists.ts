// One list of the four is broken, the others are as they should be.

import type { Json } from "../../support/mcp-client.ts";
import { LISTS, WORDS, type Demand, type ListName, type OddKind, type OddRow } from "./odd-row.ts";
import { at, resultIn, type OddRequest } from "./odd-request.ts";

const METHODS: Readonly<Record<ListName, { readonly method: string; readonly member: string }>> = {
  tools: { method: "tools/list", member: "tools" },
  prompts: { method: "prompts/list", member: "prompts" },
  resources: { method: "resources/list", member: "resources" },
  templates: { method: "resources/templates/list", member: "resourceTemplates" },
};

interface OddList {
  readonly slug: string;
  readonly what: string;
  readonly odd: (request: OddRequest, member: string) => void;
  /** It cannot be read, so the gateway says so. */
  readonly isUnread?: true;
  readonly isSilent?: true;
}

const nothing = (status: number) => (request: OddRequest) => request.send("", { status, type: null });
const refused = (code: number, status?: number) => (request: OddRequest) =>
  request.error(code, WORDS, status === undefined ? {} : { status });
const instead = (value: unknown) => (request: OddRequest, member: string) => request.result({ [member]: value });
const beside = (more: Json) => (request: OddRequest) => request.result({ ...resultIn(request), ...more });

const ODD_LISTS: readonly OddList[] = [
  { slug: "missing", what: "has no list", odd: (request) => request.result({}), isUnread: true },
  { slug: "null", what: "null", odd: instead(null), isUnread: true },
  { slug: "object", what: "{}", odd: instead({}), isUnread: true },
  { slug: "by-name", what: "an object by name", odd: instead({ one: { name: "one" } }), isUnread: true },
  { slug: "texts", what: "a list of texts", odd: instead(["one", "two"]) },
  { slug: "nulls", what: "a null in the list", odd: withNull },
  { slug: "result-null", what: "result: null", odd: (request) => request.result(null), isUnread: true },
  { slug: "result-list", what: "result: []", odd: (request) => request.result([]), isUnread: true },
  { slug: "e32603", what: "-32603", odd: refused(-32603), isUnread: true },
  { slug: "e32602", what: "-32602", odd: refused(-32602), isUnread: true },
  { slug: "e32600", what: "-32600", odd: refused(-32600), isUnread: true },
  { slug: "e32601", what: "-32601", odd: refused(-32601) },
  { slug: "s404-rpc", what: "404 with -32601", odd: refused(-32601, 404) },
  { slug: "s404", what: "404", odd: nothing(404), isUnread: true },
  { slug: "s405", what: "405", odd: nothing(405), isUnread: true },
  { slug: "s500", what: "500", odd: nothing(500), isUnread: true },
  { slug: "s500-rpc", what: "500 with an error", odd: refused(-32603, 500), isUnread: true },
  { slug: "s501", what: "501", odd: nothing(501), isUnread: true },
  { slug: "s202", what: "202", odd: nothing(202), isUnread: true, isSilent: true },
  { slug: "s204", what: "204", odd: nothing(204), isUnread: true },
  { slug: "never", what: "never answered", odd: () => {}, isUnread: true, isSilent: true },
  { slug: "cursor-null", what: "nextCursor: null", odd: beside({ nextCursor: null }) },
  { slug: "cursor-empty", what: 'nextCursor: ""', odd: beside({ nextCursor: "" }) },
  { slug: "cursor-number", what: "nextCursor: 2", odd: beside({ nextCursor: 2 }) },
  { slug: "cursor-same", what: "the same cursor again and again", odd: beside({ nextCursor: "again" }) },
  { slug: "page-500", what: "500 for the second page", odd: secondPage(nothing(500)) },
];

function withNull(request: OddRequest, member: string): void {
  request.result({ [member]: [null, ...(resultIn(request)[member] as unknown[])] });
}

function secondPage(odd: (request: OddRequest) => void) {
  return (request: OddRequest): void => {
    const { cursor } = (request.exchange.message["params"] ?? {}) as Json;
    if (cursor === undefined) request.result({ ...resultIn(request), nextCursor: "2" });
    else odd(request);
  };
}

const rows = ODD_LISTS.flatMap(({ slug, what, odd, isUnread, isSilent }) =>
  LISTS.map((list): OddRow => {
    const { method, member } = METHODS[list];
    const gateway: Demand = { others: true, ...(isUnread && { missing: new RegExp(list, "i") }) };
    const row = { id: `${slug}-${list}`, what, list, odd: at([method], (request) => odd(request, member)), gateway };
    return isSilent ? { ...row, isSilent } : row;
  }),
);

const STATELESS: readonly OddRow[] = LISTS.map((list) => ({
  id: `stateless-${list}`,
  what: "404, without sessions",
  list,
  isStateless: true,
  odd: at([METHODS[list].method], nothing(404)),
  gateway: { others: true, missing: new RegExp(list, "i") },
}));

const OF_2026: readonly OddRow[] = LISTS.map((list) => ({
  id: `both-500-${list}`,
  what: "500, in both eras",
  list,
  speaksBoth: true,
  odd: at([METHODS[list].method], nothing(500)),
  gateway: { others: true, missing: new RegExp(list, "i") },
}));

export const BROKEN_LISTS: OddKind = { kind: "lists", rows: [...rows, ...STATELESS, ...OF_2026] };
