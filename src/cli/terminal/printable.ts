// The characters that may reach a terminal: none that move the cursor, issue commands, or change the visual order of
// text. Each pattern matches one or two characters and repeats nothing, so any text takes linear time.

/**
 * C0 except tab and line feed, DEL, C1; bidirectional marks, embeddings, overrides and isolates; line separators;
 * annotations.
 */
const UNSAFE =
  /\r\n|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb]/g;
const LINE_BREAK = /[\r\n\u2028\u2029]/;
const CONTROL_PICTURES = 0x2400;

/** Replaces each such character with a visible one. Line ends and tabs stay. */
export function printable(text: string): string {
  return text.replaceAll(UNSAFE, (char) => {
    if (char === "\r\n") return "\n";
    const code = char.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(CONTROL_PICTURES + code) : "\ufffd";
  });
}

/** Like `printable`, on one line. */
export function oneLine(text: string): string {
  const lines = text.split(LINE_BREAK);
  const whole = lines.length === 1 ? text : lines.map((line) => line.trim()).filter((line) => line !== "");
  return printable([whole].flat().join(" ").replaceAll("\t", " "));
}

/** Equal JSON without such characters: inside strings they become escapes, and JSON has none elsewhere. */
export function escapedJson(json: string): string {
  return json.replaceAll(UNSAFE, (char) => (char === "\r\n" ? "\n" : jsonEscape(char)));
}

export function printableJson(value: unknown, indent?: number): string {
  return escapedJson(JSON.stringify(value, null, indent) ?? "null");
}

/** Whether a text has no such character. */
export function isPrintable(text: string): boolean {
  return text.search(UNSAFE) < 0;
}

/** The escape that JSON and YAML use in double quotes. */
function jsonEscape(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
