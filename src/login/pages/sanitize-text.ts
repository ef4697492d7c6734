// Owns how words of strangers stand on a page: on one line, of a length, and seen as they are. Pure.

/** Not seen, or turning the direction of what follows; blanks that pass for letters. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{DI}\u2800]/gu;
/** What piles up on a letter until it covers other lines. */
const STACKED_MARKS = /(\p{M}{3})\p{M}+/gu;

/** Empty where nothing can be seen of it. */
export function sanitizeText(text: string, maxLength = 80): string {
  // Of a text of megabytes, no more than could be shown.
  const visible = text
    .slice(0, maxLength * 20)
    .replace(/\s+/g, " ")
    .replace(INVISIBLE, "")
    .replace(STACKED_MARKS, "$1")
    .trim();
  return visible.replace(new RegExp(`^(.{${maxLength - 1}}).{2,}$`, "u"), "$1…");
}
