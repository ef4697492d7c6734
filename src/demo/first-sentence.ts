// The first sentence of a Markdown text, as plain text for list descriptions. Not a Markdown parser: skips headings,
// code, tables and lists, and drops inline marks.

const NOT_PROSE = /^\s*(#|\||>|[-*+]\s|\d+[.)]\s|<|---|===)/;

/** Characters searched for a first sentence. A sentence that begins later does not describe the text. */
const MAX_PREFIX = 8192;

/** The first sentence of the first paragraph, at most `limit` characters. Returns "" if there is no prose. */
export function firstSentence(markdown: string, limit: number): string {
  const prose = plainText(firstParagraph(markdown.slice(0, MAX_PREFIX)));
  const sentence = /^.*?[.!?](?=\s|$)/.exec(prose)?.[0] ?? prose;
  if (sentence.length <= limit) return sentence;
  // A lone surrogate cannot be stored, so the cut drops it.
  const cut = sentence.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, "");
  const lastSpace = cut.lastIndexOf(" ");
  return `${lastSpace > 0 ? cut.slice(0, lastSpace) : cut}…`;
}

/** Whether the line opens or closes a fenced code block. */
export function isFence(line: string): boolean {
  return /^\s*(```|~~~)/.test(line);
}

function firstParagraph(markdown: string): string {
  const lines: string[] = [];
  let fenced = false;
  for (const line of markdown.split(/\r?\n/)) {
    const fence = isFence(line);
    if (fence) fenced = !fenced;
    const isProse = !fence && !fenced && line.trim() !== "" && !NOT_PROSE.test(line);
    if (isProse) lines.push(line.trim());
    else if (lines.length > 0) break;
  }
  return lines.join(" ");
}

function plainText(inline: string): string {
  return (
    inline
      // Neither part may contain its own opening bracket. Otherwise many unclosed brackets would make the match
      // quadratic.
      .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, "$1")
      .replace(/(\*\*|__|`)/g, "")
      .replace(/\s+/g, " ")
      .trim()
  );
}
