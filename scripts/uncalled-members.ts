// Owns leaving members out of the classes of a library, whose bundler cannot know that nobody calls them. Lines stay where they
// are, so that a source map leads to the library as it was written.

import { parse } from "@swc/core";

/** A node of the syntax tree, of whatever type. */
interface Node {
  readonly type: string;
  readonly span: { readonly start: number; readonly end: number };
  readonly key?: { readonly type: string; readonly value: string };
  readonly body?: unknown;
}

/** `code` without the members of these names in its classes, nor private ones that are not mentioned any more then. */
export async function withoutMembers(code: string, names: readonly string[]): Promise<string> {
  const cut = await cutMembers(code, ({ name, isPrivate }) => !isPrivate && names.includes(name));
  return cutMembers(cut, ({ name, isPrivate }, text) => isPrivate && text.split(`#${name}`).length === 2);
}

type Decide = (member: { readonly name: string; readonly isPrivate: boolean }, code: string) => boolean;

async function cutMembers(code: string, isCut: Decide): Promise<string> {
  // Spans are counted in bytes from the first statement, over all that is parsed: this one is known to be the first.
  const module = await parse(`0;${code}`, { syntax: "ecmascript", target: "es2024" });
  const first = module.body[0]?.span.start ?? 0;
  let bytes = Buffer.from(`0;${code}`);
  for (const { key, span } of membersIn(module).toReversed()) {
    if (!key || !isCut({ name: key.value, isPrivate: key.type === "PrivateName" }, code)) continue;
    const [start, end] = [span.start - first, span.end - first];
    const lines = Buffer.from("\n".repeat(bytes.toString("utf8", start, end).split("\n").length - 1));
    bytes = Buffer.concat([bytes.subarray(0, start), lines, bytes.subarray(end)]);
  }
  return bytes.toString("utf8").slice("0;".length);
}

/** Those of all classes, in their order, and what their constructors assign to them. */
function membersIn(tree: unknown): Node[] {
  if (typeof tree !== "object" || tree === null) return [];
  const { type, body } = tree as Partial<Node>;
  if ((type === "ClassDeclaration" || type === "ClassExpression") && Array.isArray(body))
    return (body as Node[]).flatMap((member) => [member, ...assignedIn(member)]);
  return Object.values(tree).flatMap(membersIn);
}

interface Assignment {
  readonly span: Node["span"];
  readonly expression?: {
    readonly left?: { readonly object?: { readonly type: string }; readonly property?: Node["key"] };
  };
}

/** The statements of a constructor that say `this.name = ...`. */
function assignedIn({ type, body }: Node): Node[] {
  if (type !== "Constructor") return [];
  return (body as { readonly stmts: readonly Assignment[] }).stmts.flatMap(({ span, expression }) => {
    const { object, property } = expression?.left ?? {};
    return object?.type === "ThisExpression" && property?.type === "Identifier" ? [{ type, span, key: property }] : [];
  });
}
