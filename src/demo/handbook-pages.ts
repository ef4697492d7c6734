// Cuts a Markdown document at its "## " headings into pages a tenant can store: docs://tenantry/{slug}. Headings inside
// fenced code do not cut.
import type { NewResource } from "../tenantry.ts";
import { firstSentence, isFence } from "./first-sentence.ts";
import { slugOf } from "./note-record.ts";

const MAX_DESCRIPTION = 200;

interface Section {
  title: string;
  lines: string[];
}

/** Returns one resource per section in document order. Priority falls from 1, so that clients keep that order. */
export function handbookPages(markdown: string): NewResource[] {
  const taken = new Set<string>();
  const sections = splitSections(markdown).filter((section) => section.lines.some((line) => line.trim() !== ""));
  return sections.map(({ title, lines }, position) => {
    const name = freeSlug(title, taken);
    const body = lines.join("\n").trim();
    return {
      uri: `docs://tenantry/${name}`,
      name,
      title,
      description: firstSentence(body, MAX_DESCRIPTION) || title,
      mimeType: "text/markdown",
      priority: priorityAt(position, sections.length),
      text: `# ${title}\n\n${body}\n`,
    };
  });
}

function splitSections(markdown: string): Section[] {
  const sections: Section[] = [{ title: "Introduction", lines: [] }];
  let fenced = false;
  for (const line of markdown.split(/\r?\n/)) {
    if (isFence(line)) fenced = !fenced;
    const heading = fenced ? null : /^(##?)\s+(.+?)\s*#*$/.exec(line);
    const current = sections[sections.length - 1];
    if (heading?.[1] === "##") sections.push({ title: heading[2] ?? "", lines: [] });
    else if (heading !== null && current?.lines.length === 0) current.title = heading[2] ?? current.title;
    else current?.lines.push(line);
  }
  return sections;
}

function freeSlug(title: string, taken: Set<string>): string {
  const slug = slugOf(title) || "page";
  let free = slug;
  for (let count = 2; taken.has(free); count++) free = `${slug}-${count}`;
  taken.add(free);
  return free;
}

/** From 1 for the first page to 0.5 for the last, with two decimals. */
function priorityAt(position: number, count: number): number {
  return Math.round((1 - (0.5 * position) / Math.max(count - 1, 1)) * 100) / 100;
}
