// Owns holding the profiles and scopes that an author writes in code against the rules of documents. Refuses what the admin API
// would refuse, with a TypeError that names the member.

import { checkMembers, refuseStray } from "../../protocol/members.ts";
import { BOUNDS, BUDGETS, NAME, NAME_RULE, SLUG, SLUG_RULE, TOOL_NAME, TOOL_NAME_RULE } from "./selection-bounds.ts";
import type { NamedPatterns, ProfileDocument, ScopeDocument } from "./tenant-document.ts";

const LONGEST = { title: BOUNDS.text, description: BOUNDS.text, instructions: BOUNDS.longText } as const;
const KINDS = ["tools", "prompts", "resources"] as const;

export function checkProfiles(what: string, profiles: Readonly<Record<string, ProfileDocument>>): void {
  for (const [at, name, profile] of entriesOf(`${what}: profiles`, profiles)) {
    refuseUnless(SLUG.test(name), at, `a name is ${SLUG_RULE}`);
    refuseStray(at, profile, "title description instructions tools prompts resources search resultBudget");
    checkTexts(at, profile);
    const { search = false, resultBudget = {} } = profile;
    refuseUnless(typeof search === "boolean", at, "search is true or false");
    refuseStray(`${at}.resultBudget`, resultBudget, "bytes tokens");
    for (const [unit, [least, most]] of Object.entries(BUDGETS)) {
      const { [unit as keyof typeof BUDGETS]: amount = least } = resultBudget;
      const isWithin = Number.isInteger(amount) && amount >= least && amount <= most;
      refuseUnless(isWithin, `${at}.resultBudget`, `${unit} is a whole number from ${least} to ${most}`);
    }
    for (const kind of KINDS) checkNamed(`${at}.${kind}`, kind, profile[kind] ?? {});
  }
}

export function checkScopes(what: string, scopes: Readonly<Record<string, ScopeDocument>>): void {
  for (const [at, name, scope] of entriesOf(`${what}: scopes`, scopes)) {
    refuseUnless(NAME.test(name), at, `a name is ${NAME_RULE}`);
    refuseStray(at, scope, "description tools prompts resources");
    checkTexts(at, scope);
    for (const kind of KINDS) checkSelected(at, `${kind} is a list`, scope[kind]);
  }
}

function checkNamed(at: string, kind: (typeof KINDS)[number], patterns: NamedPatterns): void {
  refuseStray(at, patterns, "allow deny rename");
  refuseUnless(kind !== "resources" || !("rename" in patterns), at, "rename is of tools and prompts");
  for (const list of [patterns.allow, patterns.deny]) {
    checkSelected(at, "allow and deny are lists", list);
  }
  for (const [of, name, renaming] of entriesOf(`${at}.rename`, patterns.rename ?? {}, Infinity)) {
    refuseStray(of, renaming, "name title description");
    checkMembers(`${at}.rename`, renaming);
    for (const one of [name, renaming.name ?? name])
      refuseUnless(TOOL_NAME.test(one), of, `a name is ${TOOL_NAME_RULE}`);
    // As the admin API has it.
    refuseLong(of, "title", renaming.title, BOUNDS.text);
    refuseLong(of, "description", renaming.description, BOUNDS.longText);
  }
}

function checkSelected(at: string, rule: string, list: readonly string[] = []): void {
  checkPatterns(`${at}: ${rule}`, list);
  const { pattern: longest, patterns: most } = BOUNDS;
  refuseUnless(list.length <= most, at, `at most ${most} patterns in a list`);
  for (const one of list) {
    refuseUnless(one !== "", at, "a pattern has at least 1 character");
    refuseLong(at, "a pattern", one, longest);
  }
}

/** `what` says what the list is. */
export function checkPatterns(what: string, list: unknown = []): void {
  const isList = Array.isArray(list) && list.every((pattern) => typeof pattern === "string");
  if (!isList) throw new TypeError(`${what} of patterns`);
}

function entriesOf<T>(
  at: string,
  named: Readonly<Record<string, T>>,
  most: number = BOUNDS.few,
): (readonly [string, string, T])[] {
  refuseStray(at, named);
  const entries = Object.entries(named);
  refuseUnless(entries.length <= most, at, `at most ${most}`);
  return entries.map(([name, value]) => [`${at}.${name}`, name, value]);
}

function checkTexts(at: string, members: object): void {
  checkMembers(at, members);
  for (const [name, most] of Object.entries(LONGEST))
    refuseLong(at, name, (members as Record<string, string>)[name], most);
}

function refuseLong(at: string, name: string, text: string | undefined, most: number): void {
  // A character outside of the basic plane is one.
  refuseUnless(
    text === undefined || text.length <= most || Array.from(text).length <= most,
    at,
    `${name}: at most ${most} characters`,
  );
}

function refuseUnless(isRight: boolean, at: string, rule: string): void {
  if (!isRight) throw new TypeError(`${at}: ${rule}`);
}
