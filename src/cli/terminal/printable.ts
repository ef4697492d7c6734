// Owns which characters may reach a terminal: none that moves its cursor, gives it orders, or shows text in another order than
// it stands there. Each pattern here matches a character or two and repeats nothing, so the longest text takes linear time.

/** C0 but tab and line feed, DEL, C1; marks, embeddings, overrides and isolates of direction; separators of lines; annotations. */
const UNSAFE =
  /\r\n|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb]/g;
const LINE_BREAK = /[\r\n\u2028\u2029]/;
const CONTROL_PICTURES = 0x2400;

/** With something to see in the place of each such character. Line ends and tabs stay. */
export function printable(text: string): string {
  return text.replaceAll(UNSAFE, (char) => {
    if (char === "\r\n") return "\n";
    const code = char.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(CONTROL_PICTURES + code) : "\ufffd";
  });
}

/** The same in one line. */
export function oneLine(text: string): string {
  const lines = text.split(LINE_BREAK);
  const whole = lines.length === 1 ? text : lines.map((line) => line.trim()).filter((line) => line !== "");
  return printable([whole].flat().join(" ").replaceAll("\t", " "));
}

/** The same JSON: in a string of it such a character may be written as an escape, and elsewhere there is none. */
export function escapedJson(json: string): string {
  return json.replaceAll(UNSAFE, (char) => (char === "\r\n" ? "\n" : jsonEscape(char)));
}

export function printableJson(value: unknown, indent?: number): string {
  return escapedJson(JSON.stringify(value, null, indent) ?? "null");
}

/** Whether a text holds one of them. */
export function isPrintable(text: string): boolean {
  return text.search(UNSAFE) < 0;
}

/** As JSON and YAML write it in double quotes. */
function jsonEscape(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
