// Every command line there is, made from the commands themselves: what they must be given, alone and with each option
// and each pair of options. A command that is added is among them without being named.

import type { Argument, Command, Option } from "commander";
import { createProgram } from "../../src/cli/program.ts";
import type { Terminal } from "../../src/cli/terminal/terminal.ts";

/** Stands for every value that is no file and no URI: a tenant, a name, a prefix. */
export const ANY_VALUE = "acme";
export const ANY_URI = `${ANY_VALUE}:it`;
/** A file that is there, for whatever reads one. */
export const GIVEN_FILE = "given.yaml";
/** A folder, for whatever writes one. */
export const TARGET = "out";

/** They start a server of their own, and speak to no other. */
const STARTS_SERVER = { commands: ["__serve"], options: ["--local"] };
/** Values for options that take no text, of which each takes one. */
const VALUES = [ANY_VALUE, "30d", "1"];

export interface CommandForm {
  readonly command: string;
  readonly args: readonly string[];
  /** How many options it is given that it could do without. */
  readonly options: number;
}

export function commandForms(): CommandForm[] {
  return leavesOf(createProgram({ stdout: {}, stderr: {} } as Terminal)).flatMap(formsOf);
}

interface Leaf {
  readonly path: readonly string[];
  readonly command: Command;
}

function leavesOf(command: Command, path: readonly string[] = []): Leaf[] {
  if (command.commands.length === 0) return [{ path, command }];
  return command.commands.flatMap((one) => {
    return STARTS_SERVER.commands.includes(one.name()) ? [] : leavesOf(one, [...path, one.name()]);
  });
}

function formsOf({ path, command }: Leaf): CommandForm[] {
  const must = command.options.filter(({ mandatory }) => mandatory).flatMap(wordsOf);
  const may = command.options.filter(
    ({ mandatory, long }) => !mandatory && !STARTS_SERVER.options.includes(long ?? ""),
  );
  const places = argumentsOf(command.registeredArguments);
  const options = [[], ...may.flatMap((one, at) => [[one], ...may.slice(at + 1).map((other) => [one, other])])];
  return places.flatMap((words) =>
    options.map((some) => ({
      command: path.join(" "),
      options: some.length,
      args: [...path, ...must, ...some.flatMap(wordsOf), ...(words.length > 0 ? ["--", ...words] : [])],
    })),
  );
}

/** With none of the arguments that may be left out, with one, with two, ... */
function argumentsOf(all: readonly Argument[]): string[][] {
  const needed = all.filter(({ required }) => required).length;
  return Array.from({ length: all.length - needed + 1 }, (_, more) =>
    all.slice(0, needed + more).map((one) => one.argChoices?.[0] ?? valueFor(one.name(), one.description)),
  );
}

function wordsOf(option: Option): string[] {
  const flag = option.long ?? option.short ?? "";
  if (!option.required && !option.optional) return [flag];
  const [first] = option.argChoices ?? [];
  return [flag, first ?? VALUES.find((value) => accepts(option, value)) ?? valueFor(option.flags, option.description)];
}

function valueFor(what: string, about: string): string {
  if (/\bwrite|--out\b/.test(`${what} ${about}`)) return TARGET;
  if (/\buri\b/i.test(what)) return ANY_URI;
  return /path|file|folder/i.test(what) ? GIVEN_FILE : ANY_VALUE;
}

/** Only where the command reads the value itself: anything else takes any text. */
function accepts({ parseArg, flags, description }: Option, value: string): boolean {
  if (parseArg === undefined || valueFor(flags, description) !== ANY_VALUE) return false;
  try {
    parseArg(value, undefined);
    return true;
  } catch {
    return false;
  }
}
