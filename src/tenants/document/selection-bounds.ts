// Owns how much profiles and scopes may say, and which texts are their names, wherever they are written: the admin API holds
// documents against it, and `tenant-definition.ts` what an author writes in code.

/** Characters and counts. */
export const BOUNDS = {
  pattern: 300,
  patterns: 200,
  /** Of all patterns that are more than a name or its beginning: they are held against each name one by one. */
  innerPatterns: 20_000,
  text: 2000,
  longText: 20_000,
  few: 500,
  renamed: 10_000,
} as const;

/** Of profiles, and of tenants. */
export const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
export const SLUG_RULE = "1 to 40 of a-z, 0-9 and inner hyphens";
/** Of scopes, and of bases. */
export const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9])?$/;
export const NAME_RULE = "1 to 64 of A-Z, a-z, 0-9 and inner . _ -";
/** Of a prompt that a document has. */
/** Not those that mean another path, or nothing in an object of JavaScript. */
export const TOOL_NAME = /^(?!\.{1,2}$|__proto__$)[A-Za-z0-9_.-]{1,128}$/;
export const TOOL_NAME_RULE = "1 to 128 of A-Z, a-z, 0-9, _ . -";
/** `ID__OWN` of an upstream may have any characters. */
export const RENAMED = /^[^*?]{1,300}$/u;
export const RENAMED_RULE = "1 to 300 characters, none of them * or ?";
export const RESULT_BUDGETS = { bytes: [1000, 100_000_000], tokens: [250, 25_000_000] } as const;
