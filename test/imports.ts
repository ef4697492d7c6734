// Reads a TypeScript file for what it imports, in every form the language has, and for calls that are not pure. Uses a
// real parser: an import that a pattern overlooks would be an import that no rule sees.

import { posix } from "node:path";
import { parseAst } from "vitest/node";

export interface Import {
  readonly specifier: string;
  /** The file a relative import names, from the root of the repository; undefined for packages. */
  readonly target: string | undefined;
}

type Node = Readonly<Record<string, unknown>>;

/** Statements, `import()` in code and in types, `import x = require()`. Types count as much as values. */
const IMPORTING = new Set([
  "ImportDeclaration",
  "ExportNamedDeclaration",
  "ExportAllDeclaration",
  "ImportExpression",
  "TSImportType",
]);

export function importsOf(file: string, text: string): Import[] {
  return nodesOf(file, text).flatMap((node) => {
    const source = sourceOf(node);
    if (!isNode(source)) return [];
    // A computed specifier could name anything, so it is reported as what no rule allows.
    const specifier = typeof source["value"] === "string" ? source["value"] : "a computed name";
    const target = specifier.startsWith(".") ? posix.join(posix.dirname(file), specifier) : undefined;
    return [{ specifier, target }];
  });
}

function sourceOf(node: Node): unknown {
  if (node["type"] === "TSExternalModuleReference") return node["expression"];
  return IMPORTING.has(String(node["type"])) ? node["source"] : undefined;
}

/** The current time and random numbers, where they are asked for; a date that was given is only a value. */
export function readsClockOrChance(file: string, text: string): string[] {
  return nodesOf(file, text).flatMap((node) => {
    const call = nameOf(node);
    return call !== undefined && ["Date.now", "new Date()", "Math.random", "performance", "crypto"].includes(call)
      ? [call]
      : [];
  });
}

function nameOf(node: Node): string | undefined {
  const { type, object, property, callee } = node;
  if (type === "Identifier") return String(node["name"]);
  if (type === "MemberExpression" && isNode(object) && isNode(property)) {
    return `${String(object["name"])}.${String(property["name"])}`;
  }
  if (type === "NewExpression" && isNode(callee)) {
    const given = Array.isArray(node["arguments"]) && node["arguments"].length > 0;
    return `new ${String(callee["name"])}(${given ? "…" : ""})`;
  }
  return undefined;
}

function nodesOf(file: string, text: string): Node[] {
  const nodes: Node[] = [];
  const collect = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(collect);
    if (!isNode(value)) return;
    if (typeof value["type"] === "string") nodes.push(value);
    Object.values(value).forEach(collect);
  };
  collect(parseAst(text, { lang: "ts" }, file).body);
  return nodes;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
