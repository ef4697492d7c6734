// Shell completion: the scripts call this program, so completions always match its commands.

import type { Command, Option } from "commander";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# eval "$(tenantry completion bash)"
_tenantry() {
  local IFS=$'\\n'
  COMPREPLY=($(tenantry __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
  if [ "\${#COMPREPLY[@]}" -eq 0 ]; then compopt -o default 2>/dev/null; fi
}
complete -F _tenantry tenantry
`,
  zsh: `#compdef tenantry
# eval "$(tenantry completion zsh)"
_tenantry() {
  local -a found
  local line
  for line in "\${(@f)$(tenantry __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then _describe 'tenantry' found; else _files; fi
}
if [ "$funcstack[1]" = "_tenantry" ]; then _tenantry "$@"; else compdef _tenantry tenantry; fi
`,
  fish: `# tenantry completion fish | source
function __tenantry_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found (tenantry __complete -- $words[2..] "$current" 2>/dev/null)
    if set -q found[1]
        printf '%s\\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c tenantry -f -a '(__tenantry_complete)'
complete -c tenantry -s f -l file -r -F
complete -c tenantry -s o -l out -r -F
complete -c tenantry -l state -r -F
complete -c tenantry -l project -r -F
`,
};

export function completionScript(shell: Shell): string {
  return SCRIPTS[shell];
}

export interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** Fetches names from the server: tenants, or the upstreams of one tenant. */
export type FindNames = (kind: "tenant" | "upstream", tenant: string) => Promise<readonly string[]>;

/** Candidates for the last word. Calls `names` only where a name is expected. */
export async function completeWords(
  program: Command,
  words: readonly string[],
  names: FindNames,
): Promise<Candidate[]> {
  const last = words.at(-1) ?? "";
  const position = parsePosition(program, words.slice(0, -1));
  const all = position.option ? optionValues(position.option) : await argumentValues(position, last, names);
  return all.filter(({ word }) => word.startsWith(last));
}

interface Position {
  readonly command: Command;
  /** The command's arguments before the word to complete. */
  readonly args: readonly string[];
  /** The option whose value the word is. */
  readonly option: Option | undefined;
}

function parsePosition(program: Command, words: readonly string[]): Position {
  let command = program;
  const args: string[] = [];
  let option: Option | undefined;
  for (const word of words) {
    const valueOption: Option | undefined = option;
    option = undefined;
    if (valueOption) continue;
    if (word.startsWith("-")) {
      option = word.includes("=")
        ? undefined
        : optionsOf(command).find((one) => takesValue(one) && [one.short, one.long].includes(word));
      continue;
    }
    const next = args.length === 0 ? command.commands.find((one) => one.name() === word) : undefined;
    if (next) command = next;
    else args.push(word);
  }
  return { command, args, option };
}

function takesValue(option: Option): boolean {
  return option.required || option.optional;
}

function optionsOf(command: Command): Option[] {
  return [...command.options, ...(command.parent ? optionsOf(command.parent) : [])];
}

function optionValues({ argChoices = [] }: Option): Candidate[] {
  return argChoices.map((word) => ({ word, about: "" }));
}

/** The kind of name that an argument expects. */
const KINDS: Readonly<Record<string, "tenant" | "upstream">> = {
  tenant: "tenant",
  endpoint: "tenant",
  upstream: "upstream",
};

async function argumentValues({ command, args }: Position, last: string, names: FindNames): Promise<Candidate[]> {
  if (last.startsWith("-")) {
    const options = optionsOf(command).filter((one) => !one.hidden);
    return options.map((one) => ({ word: one.long ?? one.short ?? "", about: one.description }));
  }
  if (command.commands.length > 0 && args.length === 0) {
    const visible = command.commands.filter((one) => !one.name().startsWith("_"));
    return visible.map((one) => ({ word: one.name(), about: one.summary() || one.description() }));
  }
  const argument = command.registeredArguments[args.length];
  if (argument?.argChoices) return argument.argChoices.map((word) => ({ word, about: "" }));
  const kind = KINDS[argument?.name() ?? ""];
  if (kind === undefined) return [];
  return (await names(kind, args[0] ?? "")).map((word) => ({ word, about: kind }));
}
