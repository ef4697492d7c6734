// Owns how words of strangers stand on a page: on one line, of a length, and seen as they are. Pure.

/** Not seen, or turning the direction of what follows; blanks that pass for letters. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{DI}\u2800]/gu;
/** What piles up on a letter until it covers other lines. */
const PILE = /(\p{M}{3})\p{M}+/gu;

/** Empty where nothing can be seen of it. */
export function harmless(text: string, most = 80): string {
  // Of a text of megabytes, no more than could be shown.
  const seen = text
    .slice(0, most * 20)
    .replace(/\s+/g, " ")
    .replace(UNSEEN, "")
    .replace(PILE, "$1")
    .trim();
  return seen.replace(new RegExp(`^(.{${most - 1}}).{2,}$`, "u"), "$1…");
}
