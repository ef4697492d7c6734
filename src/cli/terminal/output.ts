// The only way to write to this process's streams. Text may come from a server, so unsafe characters are replaced
// here. Colors and redrawing are explicit operations. Bytes pass unchanged, for files and pipes.

import { oneLine, printable } from "./printable.ts";

export interface ByteStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** false: the buffer is full; write again after "drain". */
  write(chunk: string | Uint8Array): unknown;
  once?(event: "drain", listener: () => void): unknown;
}

export const COLORS = { red: 31, green: 32, yellow: 33 } as const;

/** A text of any number of lines, or a single line in a color. */
export type OutputLine = string | { readonly color: keyof typeof COLORS; readonly text: string };

export interface Screen {
  readonly isTTY: boolean;
  readonly columns: number | undefined;
}

export interface Output extends Screen {
  /** false: the buffer is full; `drained` reports when it has room. */
  write(text: string): boolean;
  /** Ends the last line with a line break, too. */
  lines(lines: readonly OutputLine[]): void;
  /** Replaces the previous redrawn line, if a person watches the terminal. */
  redraw(line: string): void;
  /** Written unchanged, whatever their content. */
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
    // Read anew each time, because the window may be resized.
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
