// Owns documents in files: YAML or JSON, one document a file. A tenant's file is the document of the admin API with the
// tenant's `id` (and `region` and `jurisdiction`, for its creation) beside the document's own members.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { usageError } from "../exit.ts";
import { fileError } from "./file-error.ts";
import { isPrintable, escapedJson, oneLine } from "../terminal/printable.ts";
import { readStdin, type Terminal } from "../terminal/terminal.ts";

export type Plain = Record<string, unknown>;

export interface TenantFile {
  readonly id: string | undefined;
  /** Where the tenant is to be kept; said once, when it is created, and no part of its document. */
  readonly birth: { readonly region?: unknown; readonly jurisdiction?: unknown };
  readonly document: Plain;
}

/** Reads a file as UTF-8; `-` is stdin. */
export async function readText(file: string, terminal: Terminal): Promise<string> {
  if (file === "-") return (await readStdin(terminal)).toString("utf8");
  try {
    return await readFile(resolve(terminal.cwd, file), "utf8");
  } catch (error) {
    throw fileError(error, file);
  }
}

export async function readDocument(file: string, terminal: Terminal): Promise<Plain> {
  const value = await parseYaml(await readText(file, terminal), file === "-" ? "stdin" : file);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Plain;
  throw usageError(`${file}: must be a mapping (name: value), not ${Array.isArray(value) ? "a list" : typeof value}`);
}

export async function readTenantFile(file: string, terminal: Terminal): Promise<TenantFile> {
  const { id, region, jurisdiction, ...document } = await readDocument(file, terminal);
  if (id !== undefined && typeof id !== "string") throw usageError(`${file}: id: must be a text`);
  const birth = { ...(region !== undefined && { region }), ...(jurisdiction !== undefined && { jurisdiction }) };
  return { id, birth, document };
}

async function parseYaml(text: string, file: string): Promise<unknown> {
  const { parseDocument, LineCounter } = await import("yaml");
  const lineCounter = new LineCounter();
  const parsed = parseDocument(text, { lineCounter, prettyErrors: false });
  const [problem] = parsed.errors;
  if (problem) {
    const { line, col } = lineCounter.linePos(problem.pos[0]);
    const message =
      problem.code === "MULTIPLE_DOCS" ? "one document a file, without another --- line" : oneLine(problem.message);
    throw usageError(`${file}:${line}:${col}: ${message}`);
  }
  try {
    return parsed.toJS() as unknown;
  } catch (error) {
    throw usageError(`${file}: ${oneLine(String(error))}`);
  }
}

export async function toYaml(value: unknown): Promise<string> {
  const { Document, visit } = await import("yaml");
  const document = new Document(value);
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value !== "string") return;
      // In double quotes whatever a terminal must not see can be written as an escape, as in JSON. As a block of lines the
      // library loses spaces of a text that has nothing else.
      if (!isPrintable(node.value) || node.value.trim() === "") node.type = "QUOTE_DOUBLE";
    },
  });
  return escapedJson(document.toString({ lineWidth: 0 }));
}
