// Owns reading server-sent events: their data, the id to resume after, the pause that the server asks for.
// Refuses events of other names than `message`, and one that would not end.
// https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation

/** Where a stream stands; filled while it is read, and kept when it breaks. */
export interface SseCursor {
  lastEventId?: string;
  retryMs?: number;
}

interface Pending {
  event: string;
  id: string | undefined;
  data: string[];
  size: number;
}

const MAX_EVENT_CHARACTERS = 64 * 1024 * 1024;
const MAX_RETRY_MS = 3_600_000;

/** The data of each event. An event without data moves the cursor only. */
export async function* readSse(
  body: AsyncIterable<Uint8Array>,
  cursor: SseCursor = {},
): AsyncGenerator<string, void, void> {
  let pending = nothing();
  for await (const line of linesOf(body)) {
    if (line !== "") {
      readField(line, pending, cursor);
      continue;
    }
    const { event, id, data } = pending;
    pending = nothing();
    if (id !== undefined) cursor.lastEventId = id;
    const text = data.join("\n");
    if (text !== "" && (event === "" || event === "message")) yield text;
  }
}

function nothing(): Pending {
  return { event: "", id: undefined, data: [], size: 0 };
}

function readField(line: string, pending: Pending, cursor: SseCursor): void {
  const colon = line.indexOf(":");
  const field = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
  if (field === "data") {
    pending.data.push(value);
    pending.size += value.length + 1;
    if (pending.size > MAX_EVENT_CHARACTERS) throw tooLong();
  }
  if (field === "event") pending.event = value;
  if (field === "id" && !value.includes("\0")) pending.id = value;
  if (field === "retry" && /^\d{1,9}$/.test(value)) cursor.retryMs = Math.min(Number(value), MAX_RETRY_MS);
}

/** A line may come in a thousand pieces, so only what is new is looked through. */
async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  let size = 0;
  let afterReturn = false;
  for await (const chunk of body) {
    let text = decoder.decode(chunk, { stream: true });
    if (afterReturn && text.startsWith("\n")) text = text.slice(1);
    if (text === "") continue;
    afterReturn = text.endsWith("\r");
    const lines = text.split(/\r\n|\n|\r/);
    const last = lines.pop() ?? "";
    for (const line of lines) {
      yield pieces.join("") + line;
      pieces = [];
      size = 0;
    }
    pieces.push(last);
    size += last.length;
    if (size > MAX_EVENT_CHARACTERS) throw tooLong();
  }
}

function tooLong(): Error {
  return new Error(`an event is longer than ${MAX_EVENT_CHARACTERS} characters`);
}
