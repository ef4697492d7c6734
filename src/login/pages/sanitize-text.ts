// Makes untrusted text safe to display: on one line, limited in length, without invisible characters.

/** Characters that are invisible or change the text direction; blanks that count as letters. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{DI}\u2800]/gu;
/** Combining marks that pile up until they cover other lines. */
const STACKED_MARKS = /(\p{M}{3})\p{M}+/gu;

/** Returns an empty text if nothing visible is left. */
export function sanitizeText(text: string, maxLength = 80): string {
  // Cuts a text of megabytes to what could be shown.
  const visible = text
    .slice(0, maxLength * 20)
    .replace(/\s+/g, " ")
    .replace(INVISIBLE, "")
    .replace(STACKED_MARKS, "$1")
    .trim();
  return visible.replace(new RegExp(`^(.{${maxLength - 1}}).{2,}$`, "u"), "$1…");
}
