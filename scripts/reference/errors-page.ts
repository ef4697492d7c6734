// docs/errors.md: every error of the tables in the sources, with what it means and what to do.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ERRORS, errorCode, errorStatus, type ErrorKey } from "../../src/protocol/errors.ts";
import { ERROR_WORDS, IDENTITY_TODO, LOGIN_WORDS, PROBLEM_WORDS } from "./errors-words.ts";
import { table, wordsOf } from "./table.ts";

const SRC = join(import.meta.dirname, "../../src");
const ERROR_KEYS = Object.keys(ERRORS) as ErrorKey[];
/** Codes of RFC 6749, 6750, 7591 and 8707. */
const OAUTH = /"((?:invalid|insufficient|unsupported|temporarily|access|server)_(?!key)[a-z_]+)"/g;

const HEAD = `# Errors, and what to do

Each error that a client, an operator or a person may be told, by its text. What stands behind the text, after a colon, is about the one case. Who is
asked why something does not work begins at [troubleshooting.md](troubleshooting.md), which goes by what people see. Written by \`npm run reference\`,
from the tables of the sources.`;

const MCP = `## At an MCP endpoint

JSON-RPC codes, in era 2025 and in 2026-07-28 where they differ, and the HTTP status. What a method itself answers has status 200.`;

const ADMIN = `## From the admin API

\`application/problem+json\`, with \`detail\`, \`errors\` and \`requestId\`. \`type\` is \`urn:tenantry:problem:\` and the name.`;

const LOGIN = `## From login

What OAuth clients of a tenant's own authorization server are told, or those who bring a token. A person gets a page with the cause and the next step.`;

const IDENTITY = `## From \`ctx.identity\`

\`no token for this caller (RULE): ...\`, to whoever calls and in the log: [login-identity.md](login-identity.md).`;

const ELSEWHERE = `## Elsewhere

- Why an upstream cannot be read, and what helps: [gateway.md](gateway.md#when-something-is-missing). Why a request may not leave: [outbound.md](outbound.md).
- What an author meets while writing: [troubleshooting.md](troubleshooting.md#while-you-write).
- What the command line ends with: \`tenantry help exit-codes\`.`;

export function errorsPage(): string {
  const parts = [HEAD, MCP, mcpTable(), ADMIN, adminTable(), LOGIN, loginTable(), IDENTITY, identityTable(), ELSEWHERE];
  return `${parts.join("\n\n")}\n`;
}

const read = (file: string) => readFileSync(join(SRC, file), "utf8");

const inEras = (of: (key: ErrorKey, era: "2025" | "2026") => number, key: ErrorKey) =>
  [...new Set([of(key, "2025"), of(key, "2026")])].join(", ");

function mcpTable(): string {
  const rows = ERROR_KEYS.map((key) => [
    `\`${ERRORS[key].message}\``,
    inEras(errorCode, key),
    inEras(errorStatus, key),
    ...ERROR_WORDS[key],
  ]);
  return table(["text", "code", "status", "what it means", "what to do"], rows);
}

/** Its module is for Workers alone: what it says is read. */
function adminTable(): string {
  const [, problems = ""] = /const PROBLEMS = \{([\s\S]*?)^\}/m.exec(read("admin/problem.ts")) ?? [];
  const rows = [...problems.matchAll(/^ {2}"?([\w-]+)"?: \{ status: (\d+), title: "(.+)" \},$/gm)];
  const said = new Map(
    rows.map(([, name = "", status = "", title = ""]) => [name, [`\`${title}\``, `\`${name}\``, status]]),
  );
  const worded = wordsOf("problem", PROBLEM_WORDS, [...said.keys()]);
  return table(
    ["title", "name", "status", "what it means", "what to do"],
    worded.map(([name, words]) => [...(said.get(name) ?? []), ...words]),
  );
}

function loginTable(): string {
  const files = globSync(["login/**/*.ts"], { cwd: SRC });
  const found = files.flatMap((file) => [...read(file).matchAll(OAUTH)].map(([, code = ""]) => code));
  const codes = [...new Set(found)].toSorted((a, b) => (a < b ? -1 : 1));
  const rows = wordsOf("OAuth error", LOGIN_WORDS, codes).map(([code, words]) => [`\`${code}\``, ...words]);
  return table(["error", "what it means", "what to do"], rows);
}

function identityTable(): string {
  const [, rules = ""] = /const RULES = \{([\s\S]*?)^\}/m.exec(read("login/identity/identity-error.ts")) ?? [];
  const said = new Map([...rules.matchAll(/^ {2}(\w+):\s+"(.*)",$/gm)].map(([, rule = "", text = ""]) => [rule, text]));
  const rows = wordsOf("rule of identity", IDENTITY_TODO, [...said.keys()]).map(([rule, todo]) => [
    `\`${rule}\``,
    said.get(rule) ?? "",
    todo,
  ]);
  return table(["rule", "what it says", "what to do"], rows);
}
