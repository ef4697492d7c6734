// Documents in YAML or JSON files, one for each file. A tenant's file has the document's members, with the tenant's
// `id` (and for creation `region` and `jurisdiction`) beside them.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { usageError } from "../exit.ts";
import { fileError } from "./file-error.ts";
import { ValidationError } from "../terminal/server-error.ts";
import type { ParsedFile } from "./file-positions.ts";
import { isPrintable, escapedJson, oneLine } from "../terminal/printable.ts";
import { readStdin, type Terminal } from "../terminal/terminal.ts";

export type PlainObject = Record<string, unknown>;

export interface TenantFile {
  readonly id: string | undefined;
  /** The location of a new tenant, set once at its creation. Not part of the document. */
  readonly placement: { readonly region?: unknown; readonly jurisdiction?: unknown };
  readonly document: PlainObject;
  readonly withPositions: WithPositions;
}

/** Runs a request that sends the document, and adds the position in the file to each error. */
export type WithPositions = <T>(work: () => Promise<T>) => Promise<T>;

export interface DocumentFile {
  readonly value: PlainObject;
  readonly withPositions: WithPositions;
}

/** Reads a file as UTF-8; `-` is stdin. */
export async function readText(file: string, terminal: Terminal): Promise<string> {
  if (file === "-") return (await readStdin(terminal)).toString("utf8");
  try {
    return await readFile(resolve(terminal.folder, file), "utf8");
  } catch (error) {
    throw fileError(error, file);
  }
}

export async function readDocument(file: string, terminal: Terminal): Promise<DocumentFile> {
  const { value, withPositions } = await parseYaml(await readText(file, terminal), file === "-" ? "stdin" : file);
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return { value: value as PlainObject, withPositions };
  const what = value === null ? "nothing" : Array.isArray(value) ? "a list" : `a ${typeof value}`;
  throw usageError(`${file}: must be a mapping (name: value), not ${what}`);
}

export async function readTenantFile(file: string, terminal: Terminal): Promise<TenantFile> {
  const { value, withPositions } = await readDocument(file, terminal);
  const { id, region, jurisdiction, ...document } = value;
  if (id !== undefined && typeof id !== "string") throw usageError(`${file}: id: must be a string`);
  const placement = { ...(region !== undefined && { region }), ...(jurisdiction !== undefined && { jurisdiction }) };
  return { id, placement, document, withPositions };
}

const YAML_ERROR_TEXTS: Readonly<Record<string, string>> = {
  BLOCK_AS_IMPLICIT_KEY: "a name inside a value: put a text with a colon in quotes, or indent the next line less",
  MULTILINE_IMPLICIT_KEY: "a name and its colon must be in one line: add the colon, or quotes around a text",
  TAB_AS_INDENT: "a tab: indent YAML with spaces",
};
const BRACES_HINT = "{{ begins a mapping in YAML: put the text in quotes";

async function parseYaml(
  text: string,
  file: string,
): Promise<{ readonly value: unknown; readonly withPositions: WithPositions }> {
  const { parseDocument, isMap, LineCounter, visit } = await import("yaml");
  const lines = new LineCounter();
  const parsed = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const fail = (offset: number, message: string) => {
    const { line, col } = lines.linePos(offset);
    return usageError(`${file}:${line}:${col}: ${oneLine(message)}`);
  };
  const [problem] = parsed.errors;
  if (problem) {
    const [offset] = problem.pos;
    if (problem.code === "MULTIPLE_DOCS") throw fail(offset, "a file must have one document, without another --- line");
    throw fail(
      offset,
      text.startsWith("{{", offset) ? BRACES_HINT : (YAML_ERROR_TEXTS[problem.code] ?? problem.message),
    );
  }
  visit(parsed, {
    // `{{secret:NAME}}` without quotes parses as a mapping whose key is a mapping.
    Pair: (_at, { key }) => {
      if (isMap(key)) throw fail(key.range?.[0] ?? 0, BRACES_HINT);
    },
  });
  const source = { file, parsed, lines };
  try {
    return { value: parsed.toJS() as unknown, withPositions: (work) => addPositions(source, work) };
  } catch (error) {
    throw usageError(`${file}: ${oneLine((error as Error).message)}`);
  }
}

async function addPositions<T>(source: ParsedFile, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    const { withPositions } = await import("./file-positions.ts");
    throw new ValidationError(error.status, error.title, withPositions(source, error.memberErrors));
  }
}

export async function toYaml(value: unknown): Promise<string> {
  const { Document, visit } = await import("yaml");
  const document = new Document(value);
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value !== "string") return;
      // Double quotes allow escapes for characters that are unsafe on a terminal, as in JSON. In block style, the
      // library loses a text that consists of spaces.
      if (!isPrintable(node.value) || node.value.trim() === "") node.type = "QUOTE_DOUBLE";
    },
  });
  return escapedJson(document.toString({ lineWidth: 0 }));
}
