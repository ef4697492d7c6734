// Owns what is wrong with listed tools in the eyes of the clients and of the models behind them. Pure. Refuses what the
// protocol refuses anyway: such a list does not come this far.

import { combinedAtTop, LISTED_NAME, LISTED_NAME_RULE } from "../../../protocol/client-rules.ts";
import { isObject, type JsonObject } from "../../../protocol/jsonrpc.ts";
import { failed, note, ok, type Finding } from "./finding.ts";

/** What models take: a client puts the name of the server before the name of the tool. */
const MODEL_NAME = 64;
/** As Claude Code has it, with the longest of the prefixes that are common. */
const prefixOf = (server: string) => `mcp__${server}__`;
/** In an order in which a person mends them. */
const MANY = 60;
const DESCRIPTION = 1024;

interface Rule {
  readonly step: string;
  /** Some client refuses a tool that breaks it, and often all others with it; else some client works less well with it. */
  readonly isBreaking: boolean;
  readonly said: string;
  readonly mend: string;
  breaks(tool: JsonObject, prefix: string): boolean;
}

const nameOf = ({ name }: JsonObject) => (typeof name === "string" ? name : "");
const schemaOf = ({ inputSchema }: JsonObject) => (isObject(inputSchema) ? inputSchema : {});

const RULES: readonly Rule[] = [
  {
    step: "names of tools",
    isBreaking: true,
    said: `that claude.ai, Codex and others refuse, with all tools beside them: use ${LISTED_NAME_RULE}`,
    mend: "Rename them, or in a profile: tools.rename.",
    breaks: (tool) => !LISTED_NAME.test(nameOf(tool)),
  },
  {
    step: "names of tools, with the server's",
    isBreaking: false,
    said: "longer than 64 characters once a client has put the server's name before them",
    mend: "Shorten them, or the server's name in the client.",
    breaks: (tool, prefix) => nameOf(tool).length <= MODEL_NAME && prefix.length + nameOf(tool).length > MODEL_NAME,
  },
  {
    step: "descriptions",
    isBreaking: false,
    said: "without a description: a model guesses when to call them",
    mend: "Say in a sentence what the tool does, and when.",
    breaks: ({ description }) => typeof description !== "string" || description.trim() === "",
  },
  {
    step: "length of descriptions",
    isBreaking: false,
    said: `with a description of more than ${DESCRIPTION} characters, which some clients cut`,
    mend: "Say what matters first; the rest belongs in the server's instructions.",
    breaks: ({ description }) => typeof description === "string" && description.length > DESCRIPTION,
  },
  {
    step: "annotations",
    isBreaking: false,
    said: "without annotations: clients take them for destructive, and ask a person before each call",
    mend: "annotations: { readOnlyHint: true } for what only reads, else { destructiveHint: false } where that is true.",
    breaks: ({ annotations }) =>
      !isObject(annotations) || !["readOnlyHint", "destructiveHint"].some((hint) => hint in annotations),
  },
  {
    step: "schemas of input",
    isBreaking: true,
    said: 'whose inputSchema is not of type "object"',
    mend: "Arguments are an object: put what there is into a member of one.",
    breaks: (tool) => schemaOf(tool).type !== "object",
  },
  {
    step: "combined schemas",
    isBreaking: true,
    said: "with oneOf, anyOf or allOf at the top of inputSchema, for which Claude refuses all tools",
    mend: "Make it one object with optional members, and check the rest in the handler.",
    breaks: (tool) => combinedAtTop(schemaOf(tool)).length > 0,
  },
];

/** `server`: what a client calls the endpoint. */
export function judgeTools(tools: readonly JsonObject[], server: string): Finding[] {
  const prefix = prefixOf(server);
  const findings = RULES.flatMap((rule) => {
    const broken = tools.filter((tool) => rule.breaks(tool, prefix)).map(nameOf);
    if (broken.length === 0) return [];
    const said = `${broken.length} of ${tools.length} ${rule.said}: ${namesOf(broken)}`;
    return [rule.isBreaking ? failed(rule.step, said, rule.mend) : note(rule.step, said, rule.mend)];
  });
  const names = new Set<string>();
  const twice = tools.map(nameOf).filter((name) => names.size === names.add(name).size);
  if (twice.length > 0)
    findings.push(failed("names of tools", `listed twice: ${namesOf(twice)}`, "A name is one tool's."));
  if (tools.length > MANY) {
    const mend = "Show fewer, in a profile: some clients take no more than 40, and models choose worse among many.";
    findings.push(note("number of tools", String(tools.length), mend));
  }
  return findings.length === 0 ? [ok("definitions", "nothing that a client would mind")] : findings;
}

const SHOWN = 5;

function namesOf(names: readonly string[]): string {
  const more = names.length - SHOWN;
  return names.slice(0, SHOWN).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
