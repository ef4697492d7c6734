// Owns the one way to a stream of this process. What a command writes there may hold words of a server, so whatever it is, it
// is made printable here; colours and redrawing are asked for by name. Bytes pass unchanged, for files and pipes.

import { oneLine, printable } from "./printable.ts";

/** A stream as the process has it. */
export interface ByteStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** False says that the buffer is full: write again after "drain". */
  write(chunk: string | Uint8Array): unknown;
  once?(event: "drain", listener: () => void): unknown;
}

export const COLORS = { red: 31, green: 32, yellow: 33 } as const;

/** A text of any number of lines, or a single line in a colour. */
export type OutputLine = string | { readonly color: keyof typeof COLORS; readonly text: string };

export interface Screen {
  readonly isTTY: boolean;
  readonly columns: number | undefined;
}

export interface Output extends Screen {
  /** False says that the buffer is full: `drained` says when it is not. */
  write(text: string): boolean;
  /** With a line end after the last one. */
  lines(lines: readonly OutputLine[]): void;
  /** In the place of what was drawn so before, where a person sits there. */
  redraw(line: string): void;
  /** Whatever they hold. */
  bytes(chunk: Uint8Array): void;
  drained(listener: () => void): void;
}

export function createOutput(stream: ByteStream, env: Readonly<Record<string, string | undefined>>): Output {
  const isTTY = stream.isTTY === true;
  const hasColors = isTTY && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb";
  const render = (line: OutputLine): string => {
    if (typeof line === "string") return printable(line);
    const text = oneLine(line.text);
    return hasColors ? `\u001b[${COLORS[line.color]}m${text}\u001b[0m` : text;
  };
  return {
    isTTY,
    // Asked each time: a window may be resized.
    get columns() {
      return stream.columns;
    },
    write: (text) => stream.write(printable(text)) !== false,
    lines: (lines) => {
      const text = lines.map(render).join("\n");
      if (text !== "") stream.write(text.endsWith("\n") ? text : `${text}\n`);
    },
    redraw: (line) => {
      if (isTTY) stream.write(`\r\u001b[2K${oneLine(line)}`);
    },
    bytes: (chunk) => void stream.write(chunk),
    drained: (listener) => {
      if (stream.once) stream.once("drain", listener);
      else listener();
    },
  };
}
