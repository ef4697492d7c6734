// The first sentence of a Markdown text, as plain text: for descriptions in lists.
// Not a Markdown parser: it skips headings, code, tables and lists, and drops inline marks.

const NOT_PROSE = /^\s*(#|\||>|[-*+]\s|\d+[.)]\s|<|---|===)/;

/** What is looked at of a text: a first sentence that begins later is none to describe it by. */
const MAX_PREFIX = 8192;

/** The first sentence of the first paragraph, at most `limit` characters; "" where there is no prose. */
export function firstSentence(markdown: string, limit: number): string {
  const prose = plainText(firstParagraph(markdown.slice(0, MAX_PREFIX)));
  const sentence = /^.*?[.!?](?=\s|$)/.exec(prose)?.[0] ?? prose;
  if (sentence.length <= limit) return sentence;
  // Half of a pair is no text that could be stored.
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
      // Neither part may hold the bracket that it begins with: otherwise each of many would look through all that follows.
      .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, "$1")
      .replace(/(\*\*|__|`)/g, "")
      .replace(/\s+/g, " ")
      .trim()
  );
}
