// Owns saying where in a file it stands what a server refused of it: the line and the column of each member that breaks a
// rule, as parsers and compilers say it. Refuses to know what any rule means.

import { isMap, isScalar, isSeq, type Document, type LineCounter, type Node } from "yaml";
import type { RefusedMember } from "../terminal/problem.ts";

export interface FileSource {
  readonly file: string;
  readonly parsed: Document;
  readonly lines: LineCounter;
}

/** The rule, with the place of its member in the file; without one where the file has no such member. */
export function placed({ file, parsed, lines }: FileSource, { field, rule }: RefusedMember): RefusedMember {
  const at = placeOf(parsed.contents, field);
  if (at === undefined) return { field, rule };
  const { line, col } = lines.linePos(at.offset);
  return { field, rule: rule + quotesHint(rule, at.node), at: `${file}:${line}:${col}` };
}

/** YAML reads 2025 as a number, and `yes` as a text. */
function quotesHint(rule: string, node: Node | undefined): string {
  const isUnquoted = isScalar(node) && typeof node.value !== "string" && node.source !== undefined;
  return isUnquoted && rule.startsWith("expected string") ? ` (as a text: "${node.source}")` : "";
}

interface Place {
  readonly offset: number;
  readonly node: Node | undefined;
}

/** Of the member, or of the last one on the way to it that is there. Names of members may have dots in them. */
function placeOf(node: unknown, path: string): Place | undefined {
  const [found] = membersOf(node).flatMap(({ name, ...place }) => {
    if (path === name) return [place];
    return path.startsWith(`${name}.`) ? [placeOf(place.node, path.slice(name.length + 1)) ?? place] : [];
  });
  return found;
}

function membersOf(node: unknown): readonly (Place & { readonly name: string })[] {
  if (isMap<unknown, Node>(node)) {
    return node.items.flatMap(({ key, value }) =>
      isScalar(key) ? [{ name: String(key.value), offset: key.range?.[0] ?? 0, node: value ?? undefined }] : [],
    );
  }
  if (!isSeq<Node>(node)) return [];
  return node.items.map((item, at) => ({ name: String(at), offset: item.range?.[0] ?? 0, node: item }));
}
