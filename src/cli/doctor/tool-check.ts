// Problems of listed tools with common clients and their models. Lists that violate the protocol fail before this
// check.

import { topLevelCombinators, LISTED_NAME, LISTED_NAME_RULE } from "../../protocol/client-rules.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import { failed, note, ok, type Finding } from "./finding.ts";

/** The limit of models. A client puts the server's name before the tool's name. */
const MAX_MODEL_NAME = 64;
/** The prefix of Claude Code, the longest common one. */
const prefixOf = (server: string) => `mcp__${server}__`;
const MANY_TOOLS = 60;
const MAX_DESCRIPTION = 1024;

interface Rule {
  readonly check: string;
  /** `failed`: some client refuses such a tool, and often all others with it. `note`: some client works less well with it. */
  readonly state: "failed" | "note";
  readonly detail: string;
  readonly fix: string;
  isViolatedBy(tool: JsonObject, prefix: string): boolean;
}

const nameOf = ({ name }: JsonObject) => (typeof name === "string" ? name : "");
const schemaOf = ({ inputSchema }: JsonObject) => (isObject(inputSchema) ? inputSchema : {});

/** In the order in which to fix the problems. */
const RULES: readonly Rule[] = [
  {
    check: "names of tools",
    state: "failed",
    detail: `are refused by claude.ai, Codex and others, together with all other tools: use ${LISTED_NAME_RULE}`,
    fix: "Rename them in the code, or in a profile: tools.rename.",
    isViolatedBy: (tool) => !LISTED_NAME.test(nameOf(tool)),
  },
  {
    check: "names of tools, with the server's",
    state: "note",
    detail: "are longer than 64 characters after a client has put the server's name before them",
    fix: "Shorten them, or the server's name in the client.",
    isViolatedBy: (tool, prefix) =>
      nameOf(tool).length <= MAX_MODEL_NAME && prefix.length + nameOf(tool).length > MAX_MODEL_NAME,
  },
  {
    check: "descriptions",
    state: "note",
    detail: "have no description: a model guesses when to call them",
    fix: "Describe in a sentence what the tool does, and when to call it.",
    isViolatedBy: ({ description }) => typeof description !== "string" || description.trim() === "",
  },
  {
    check: "length of descriptions",
    state: "note",
    detail: `have a description of more than ${MAX_DESCRIPTION} characters, which some clients cut`,
    fix: "Put the important part first, and the rest into the server's instructions.",
    isViolatedBy: ({ description }) => typeof description === "string" && description.length > MAX_DESCRIPTION,
  },
  {
    check: "annotations",
    state: "note",
    detail: "have no annotations: clients take them for destructive, and ask a person before each call",
    fix: "Set annotations: { readOnlyHint: true } if the tool only reads, { destructiveHint: false } if it only adds.",
    isViolatedBy: ({ annotations }) =>
      !isObject(annotations) || !["readOnlyHint", "destructiveHint"].some((hint) => hint in annotations),
  },
  {
    check: "schemas of input",
    state: "failed",
    detail: 'have an inputSchema that is not of type "object"',
    fix: "Arguments must be an object: make the value a field of an object.",
    isViolatedBy: (tool) => schemaOf(tool).type !== "object",
  },
  {
    check: "combined schemas",
    state: "failed",
    detail: "have oneOf, anyOf or allOf at the top of inputSchema, so Claude refuses all tools",
    fix: "Make it one object with optional fields, and check the rest in the handler.",
    isViolatedBy: (tool) => topLevelCombinators(schemaOf(tool)).length > 0,
  },
];

/** `server`: the client's name for the endpoint. */
export function checkTools(tools: readonly JsonObject[], server: string): Finding[] {
  const prefix = prefixOf(server);
  const findings = RULES.flatMap((rule): Finding[] => {
    const offenders = tools.filter((tool) => rule.isViolatedBy(tool, prefix)).map(nameOf);
    if (offenders.length === 0) return [];
    const detail = `${offenders.length} of ${tools.length} ${rule.detail}: ${joinNames(offenders)}`;
    return [{ check: rule.check, state: rule.state, detail, fix: rule.fix }];
  });
  const names = new Set<string>();
  const duplicates = tools.map(nameOf).filter((name) => names.size === names.add(name).size);
  if (duplicates.length > 0)
    findings.push(failed("names of tools", `listed twice: ${joinNames(duplicates)}`, "Give each tool its own name."));
  if (tools.length > MANY_TOOLS) {
    const fix = "Show fewer tools in a profile: some clients accept at most 40, and models choose worse among many.";
    findings.push(note("number of tools", String(tools.length), fix));
  }
  return findings.length === 0 ? [ok("definitions", "no problems for clients")] : findings;
}

const MAX_NAMES = 5;

function joinNames(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  return names.slice(0, MAX_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
