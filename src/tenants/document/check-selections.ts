// Checks profiles and scopes that an author writes in code against the rules of the admin API. Throws a TypeError that
// names the member.

import { charactersOf } from "../../protocol/characters.ts";
import { assertMemberTypes, assertKnownKeys, integerRangeError } from "../../protocol/members.ts";
import { LISTED_NAME, LISTED_NAME_RULE } from "../../protocol/client-rules.ts";
import { BOUNDS, RESULT_BUDGETS, NAME, NAME_RULE, RENAMED, RENAMED_RULE, SLUG, SLUG_RULE } from "./selection-bounds.ts";
import type { NamedPatterns, ProfileDocument, ScopeDocument } from "./tenant-document.ts";

const KINDS = ["tools", "prompts", "resources"] as const;

export function checkProfiles(what: string, profiles: Readonly<Record<string, ProfileDocument>>): void {
  for (const [at, name, profile] of entriesOf(`${what}: profiles`, profiles)) {
    assertRule(SLUG.test(name), at, `a name must be ${SLUG_RULE}`);
    checkTexts(
      at,
      profile,
      "title description instructions tools prompts resources search resultBudget",
      "instructions",
    );
    const { resultBudget = {} } = profile;
    assertKnownKeys(`${at}.resultBudget`, resultBudget, "bytes tokens");
    for (const [unit, [least, most]] of Object.entries(RESULT_BUDGETS)) {
      const { [unit as keyof typeof RESULT_BUDGETS]: amount = least } = resultBudget;
      const fault = integerRangeError(unit, amount, least, most);
      assertRule(!fault, `${at}.resultBudget`, fault);
    }
    for (const kind of KINDS) checkNamedPatterns(`${at}.${kind}`, profile[kind], kind === "resources" ? "" : " rename");
  }
}

function checkNamedPatterns(path: string, patterns: NamedPatterns = {}, renames: string): void {
  assertKnownKeys(path, patterns, `allow deny${renames}`);
  const { allow, deny, rename = {} } = patterns;
  checkPatternList(`${path}.allow`, allow);
  checkPatternList(`${path}.deny`, deny);
  for (const [renamePath, tool, renaming] of entriesOf(`${path}.rename`, rename, Infinity)) {
    // The same texts and bounds as in the admin API.
    checkTexts(renamePath, renaming, "name title description", "description");
    assertRule(RENAMED.test(tool), renamePath, `the original name must be ${RENAMED_RULE}`);
    assertRule(
      renaming.name === undefined || LISTED_NAME.test(renaming.name),
      renamePath,
      `a name must be ${LISTED_NAME_RULE}`,
    );
  }
}

export function checkScopes(what: string, scopes: Readonly<Record<string, ScopeDocument>>): void {
  for (const [at, name, scope] of entriesOf(`${what}: scopes`, scopes)) {
    assertRule(NAME.test(name), at, `a name must be ${NAME_RULE}`);
    checkTexts(at, scope, "description tools prompts resources");
    for (const kind of KINDS) checkPatternList(`${at}.${kind}`, scope[kind]);
  }
}

function checkPatternList(at: string, list: readonly string[] = []): void {
  checkPatterns(at, list);
  const { pattern: longest, patterns: most } = BOUNDS;
  const isRight = list.length <= most && list.every((one) => one !== "" && charactersOf(one) <= longest);
  assertRule(isRight, at, `must have at most ${most} patterns of 1 to ${longest} characters`);
}

export function checkPatterns(at: string, list: unknown = []): void {
  const isList = Array.isArray(list) && list.every((pattern) => typeof pattern === "string");
  if (!isList) throw new TypeError(`${at} must be a list of patterns`);
}

function entriesOf<T>(
  at: string,
  named: Readonly<Record<string, T>>,
  most: number = BOUNDS.few,
): (readonly [string, string, T])[] {
  assertKnownKeys(at, named);
  const entries = Object.entries(named);
  assertRule(entries.length <= most, at, `must have at most ${most} entries`);
  return entries.map(([name, value]) => [`${at}.${name}`, name, value]);
}

/** `known`: the members that the type has. `long`: the text that may have `BOUNDS.longText` characters. */
function checkTexts(at: string, members: object, known: string, long?: string): void {
  assertMemberTypes(at, members, known);
  for (const name of ["title", "description", "instructions"]) {
    const { [name]: text = "" } = members as Readonly<Record<string, string>>;
    const most = name === long ? BOUNDS.longText : BOUNDS.text;
    assertRule(charactersOf(text) <= most, at, `${name} must have at most ${most} characters`);
  }
}

function assertRule(isRight: boolean, at: string, rule: string | undefined): void {
  if (!isRight) throw new TypeError(`${at}: ${rule}`);
}
