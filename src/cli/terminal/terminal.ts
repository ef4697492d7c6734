// The process as commands see it, so that tests can replace it: streams, environment, Ctrl+C.

import { createInterface, type Interface } from "node:readline/promises";
import { Writable } from "node:stream";
import { CliError, EXIT } from "../exit.ts";
import { createOutput, type ByteStream, type Output } from "./output.ts";

/** The real streams and environment of the process. */
export interface ProcessContext {
  readonly stdout: ByteStream;
  readonly stderr: ByteStream;
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The process's folder, where the search for a local server starts. */
  readonly cwd: string;
  /** Aborted by Ctrl+C. */
  readonly signal: AbortSignal;
}

export interface Terminal extends Omit<ProcessContext, "stdout" | "stderr"> {
  readonly stdout: Output;
  readonly stderr: Output;
  /** The user's folder, to which typed paths are relative. */
  readonly folder: string;
}

/** From here on, streams are accessible only through an `Output`. */
export function createTerminal({ stdout, stderr, ...rest }: ProcessContext): Terminal {
  // npm runs a script in the folder of its package.json.
  const npm = rest.env["npm_lifecycle_event"] === "tenantry" ? rest.env["INIT_CWD"] : undefined;
  return {
    ...rest,
    folder: npm || rest.cwd,
    stdout: createOutput(stdout, rest.env),
    stderr: createOutput(stderr, rest.env),
  };
}

/** Whether a person can answer questions. */
export function isInteractive(terminal: Terminal): boolean {
  return terminal.stdin.isTTY === true && terminal.stderr.isTTY;
}

/** All questions share one reader, so that lines typed ahead answer later questions. */
const readers = new WeakMap<Terminal, AsyncIterator<string>>();

/** Asks on stderr, so that stdout holds only results. The end of the input counts as an empty answer. */
export async function ask(terminal: Terminal, question: string): Promise<string> {
  return (await askOrEnd(terminal, question)) ?? "";
}

/** undefined at the end of the input, such as Ctrl-D. */
export async function askOrEnd(terminal: Terminal, question: string): Promise<string | undefined> {
  terminal.stderr.write(question);
  const reader = readers.get(terminal) ?? linesOf(createInterface({ input: terminal.stdin, terminal: false }));
  readers.set(terminal, reader);
  return nextLine(reader, terminal.signal);
}

/** Like `ask`, without showing the typed text. */
export async function askSecret(terminal: Terminal, question: string): Promise<string> {
  terminal.stderr.write(question);
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: terminal.stdin, output: discard, terminal: true });
  // Hidden input puts the terminal into raw mode, in which Ctrl+C is a character and not a signal.
  const interrupt = new Promise<never>((_resolve, reject) => {
    lines.once("SIGINT", () => reject(new CliError(EXIT.interrupted, "interrupted")));
  });
  try {
    return (await Promise.race([nextLine(linesOf(lines), terminal.signal), interrupt])) ?? "";
  } finally {
    lines.close();
    terminal.stderr.write("\n");
  }
}

function linesOf(lines: Interface): AsyncIterator<string> {
  return lines[Symbol.asyncIterator]();
}

async function nextLine(reader: AsyncIterator<string>, signal: AbortSignal): Promise<string | undefined> {
  const { promise: interrupted, reject } = createInterrupt();
  signal.addEventListener("abort", reject);
  try {
    const line = await Promise.race([reader.next(), interrupted]);
    return line.done === true ? undefined : line.value.trim();
  } finally {
    signal.removeEventListener("abort", reject);
  }
}

function createInterrupt(): { promise: Promise<never>; reject: () => void } {
  let reject = () => {};
  const promise = new Promise<never>((_resolve, rejectPromise) => {
    reject = () => rejectPromise(new CliError(EXIT.interrupted, "interrupted"));
  });
  return { promise, reject };
}

export async function readStdin(terminal: Terminal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of terminal.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
