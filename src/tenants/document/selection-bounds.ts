// Size limits and name rules for profiles and scopes. The admin API and `tenant-definition.ts` both apply them.

/** Characters and counts. */
export const BOUNDS = {
  pattern: 300,
  patterns: 200,
  /**
   * All patterns that are more than an exact name or a prefix, together. Each is tested against each name one by one.
   */
  innerPatterns: 20_000,
  text: 2000,
  longText: 20_000,
  few: 500,
  renamed: 10_000,
} as const;

/** For profiles and tenants. */
export const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
export const SLUG_RULE = "1 to 40 characters (a-z, 0-9, hyphen) that begin and end with a letter or digit";
/** For scopes and base documents. */
export const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9])?$/;
export const NAME_RULE =
  "1 to 64 characters (A-Z, a-z, 0-9, dot, underscore, hyphen) that begin and end with a letter or digit";
/**
 * For prompts in a document. Excludes names that mean another path, or have a special meaning in a JavaScript object.
 */
export const TOOL_NAME = /^(?!\.{1,2}$|__proto__$)[A-Za-z0-9_.-]{1,128}$/;
export const TOOL_NAME_RULE = "1 to 128 characters of A-Z, a-z, 0-9, _ . -";
/** An upstream's own name, as in `ID__OWN`, may have any characters. */
export const RENAMED = /^[^*?]{1,300}$/u;
export const RENAMED_RULE = "1 to 300 characters without * or ?";
export const RESULT_BUDGETS = { bytes: [1000, 100_000_000], tokens: [250, 25_000_000] } as const;
