// Adds the file, line and column to each server error about a member, as compilers do.

import { isMap, isScalar, isSeq, type Document, type LineCounter, type Node } from "yaml";
import type { MemberError } from "../terminal/server-error.ts";

export interface ParsedFile {
  readonly file: string;
  readonly parsed: Document;
  readonly lines: LineCounter;
}

/** The errors in the order of the file; those whose member the file lacks come last, without a position. */
export function withPositions(source: ParsedFile, errors: readonly MemberError[]): MemberError[] {
  const located = errors.map((error) => ({ error, position: positionOf(source.parsed.contents, error.field) }));
  const offsetOf = ({ position }: (typeof located)[number]) => position?.offset ?? Number.MAX_SAFE_INTEGER;
  return located
    .toSorted((a, b) => offsetOf(a) - offsetOf(b))
    .map(({ error, position }) => withPosition(source, error, position));
}

function withPosition(
  { file, lines }: ParsedFile,
  { field, rule }: MemberError,
  position: NodePosition | undefined,
): MemberError {
  if (position === undefined) return { field, rule };
  const { line, col } = lines.linePos(position.offset);
  return { field, rule: rule + typeHint(rule, position.node), position: `${file}:${line}:${col}` };
}

/** YAML reads 2025 as a number, and `yes` as a text. */
function typeHint(rule: string, node: Node | undefined): string {
  if (!isScalar(node) || node.source === undefined) return "";
  const isUnquoted = typeof node.value !== "string";
  if (isUnquoted && rule.startsWith("expected string")) return ` (as a text: "${node.source}")`;
  return rule.startsWith("expected boolean") && /^(?:yes|no|on|off)$/i.test(node.source) ? ": write true or false" : "";
}

interface NodePosition {
  readonly offset: number;
  readonly node: Node | undefined;
}

/** The position of the member, or of its nearest ancestor that exists. Member names may contain dots. */
function positionOf(node: unknown, path: string): NodePosition | undefined {
  const [position] = membersOf(node).flatMap(({ name, ...location }) => {
    if (path === name) return [location];
    return path.startsWith(`${name}.`) ? [positionOf(location.node, path.slice(name.length + 1)) ?? location] : [];
  });
  return position;
}

function membersOf(node: unknown): readonly (NodePosition & { readonly name: string })[] {
  if (isMap<unknown, Node>(node)) {
    return node.items.flatMap(({ key, value }) =>
      isScalar(key) ? [{ name: String(key.value), offset: key.range?.[0] ?? 0, node: value ?? undefined }] : [],
    );
  }
  if (!isSeq<Node>(node)) return [];
  return node.items.map((item, at) => ({ name: String(at), offset: item.range?.[0] ?? 0, node: item }));
}
