// How the bytes of an answer are written.

import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import type { Json } from "../../support/mcp-client.ts";
import type { OddKind, OddRow } from "./odd-row.ts";
import { event, EVENTS, everywhere, onCall, type Oddity } from "./odd-request.ts";

const utf8 = new TextEncoder();

/** Every answer, as bytes of another kind. */
const encoded = (encoding: string, encode: (text: string) => Uint8Array, type?: string): Oddity =>
  everywhere((asked, usual) => {
    const text = type === EVENTS ? event(usual) : JSON.stringify(usual);
    asked.send(encode(text), { headers: { "content-encoding": encoding }, ...(type !== undefined && { type }) });
  });

const written = (write: (usual: Json) => string | Uint8Array, type?: string): Oddity =>
  everywhere((asked, usual) => asked.send(write(usual), type === undefined ? {} : { type }));

/** A call has this in its text, beside "went". */
const withText = (change: (json: string) => string | Uint8Array): Oddity =>
  onCall((asked) => asked.send(change(JSON.stringify(asked.usual))));

const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, "utf16le");
const escaped = (json: string) =>
  json.replaceAll(/"[^"]*"/g, (text) =>
    text.replaceAll(/[a-z]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );

/** Encodings that no request asked for, and Workers do not decode. */
const UNDECODED: Readonly<Record<string, string>> = {
  "x-gzip": "x-gzip",
  "gzip-capital": "GZIP",
  deflate: "deflate",
  "deflate-raw": "deflate",
  zstd: "zstd",
};

function undecoded(id: string): Pick<OddRow, "worse"> {
  const encoding = UNDECODED[id];
  return encoding === undefined ? {} : { worse: `content-encoding: ${encoding}` };
}

const NESTED = `${"[".repeat(400)}${"]".repeat(400)}`;
const more = (member: string) => (json: string) => json.replace('"content"', `${member},"content"`);

const rows: readonly OddRow[] = [
  ["gzip", "gzip", encoded("gzip", gzipSync)],
  ["gzip-events", "events in gzip", encoded("gzip", gzipSync, EVENTS)],
  ["x-gzip", "x-gzip", encoded("x-gzip", gzipSync)],
  ["gzip-capital", "GZIP", encoded("GZIP", gzipSync)],
  ["deflate", "deflate", encoded("deflate", deflateSync)],
  ["deflate-raw", "raw deflate", encoded("deflate", deflateRawSync)],
  ["brotli", "br", encoded("br", brotliCompressSync)],
  ["brotli-events", "events in br", encoded("br", brotliCompressSync, EVENTS)],
  ["zstd", "zstd, which nobody asked for", encoded("zstd", zstdCompressSync)],
  ["identity", "Content-Encoding: identity", encoded("identity", (text) => utf8.encode(text))],
  ["encoding-utf8", "Content-Encoding: utf-8", encoded("utf-8", (text) => utf8.encode(text))],
  ["gzip-plain", "Content-Encoding: gzip, and plain text", encoded("gzip", (text) => utf8.encode(text))],
  ["gzip-unsaid", "gzip without Content-Encoding", written((usual) => gzipSync(JSON.stringify(usual)))],
  ["bom", "a BOM before JSON", written((usual) => `\uFEFF${JSON.stringify(usual)}`)],
  [
    "utf16-said",
    "charset=utf-16, and UTF-8",
    written((usual) => JSON.stringify(usual), "application/json; charset=utf-16"),
  ],
  ["utf16", "UTF-16", written((usual) => utf16(JSON.stringify(usual)), "application/json; charset=utf-16")],
  [
    "utf7-said",
    "charset=utf-7, and UTF-8",
    written((usual) => JSON.stringify(usual), "application/json; charset=utf-7"),
  ],
  ["newline", "a line end after JSON", written((usual) => `${JSON.stringify(usual)}\n`)],
  ["whitespace", "white space around JSON", written((usual) => ` \r\n\t${JSON.stringify(usual, null, 4)}\r\n  `)],
  ["form-feed", "a form feed before JSON", written((usual) => `\f${JSON.stringify(usual)}`)],
  ["nul-after", "NUL after JSON", written((usual) => `${JSON.stringify(usual)}\0`)],
  ["semicolon", "a semicolon after JSON", written((usual) => `${JSON.stringify(usual)};`)],
  ["two-texts", "two JSON texts", written((usual) => `${JSON.stringify(usual)}\n${JSON.stringify(usual)}\n`)],
  ["guarded", ")]}' before JSON", written((usual) => `)]}'\n${JSON.stringify(usual)}`)],
  ["warned", "a warning before JSON (PHP)", written((usual) => `<br />\nWarning: x\n${JSON.stringify(usual)}`)],
  ["escapes", "every letter escaped", written((usual) => escaped(JSON.stringify(usual)))],
  ["surrogate", "half of a surrogate pair", withText(more('"x":"\\ud800"'))],
  ["nul-escape", "NUL, escaped", withText(more('"x":"\\u0000"'))],
  ["nested", "400 lists in each other", withText(more(`"x":${NESTED}`))],
  ["big-number", "a number of 400 digits", withText(more(`"x":${"9".repeat(400)}`))],
  ["nan", "NaN, as Python writes it", withText(more('"x":NaN'))],
  ["single-quotes", "a text in single quotes", withText(more("\"x\":'y'"))],
  ["comma", "a comma too many", withText((json) => json.replace(/\}$/, ",}"))],
  ["control", "a line end within a text", withText(more('"x":"a\nb"'))],
  ["long", "a text of 2 MiB", withText(more(`"x":"${"y".repeat(2 * 1024 * 1024)}"`))],
  ["proto", "a member __proto__", withText(more('"__proto__":{"x":1}'))],
].map(([id, what, odd]) => ({
  id: id as string,
  what: what as string,
  odd: odd as Oddity,
  ...undecoded(id as string),
}));

const BYTES: readonly OddRow[] = [
  {
    id: "invalid-utf8",
    what: "bytes that are no UTF-8, in a text",
    odd: onCall((asked) => {
      const [before = "", after = ""] = JSON.stringify(asked.usual).split('"content"');
      asked.send(
        Buffer.concat([Buffer.from(`${before}"x":"`), Buffer.of(0xff, 0xfe), Buffer.from(`","content"${after}`)]),
      );
    }),
  },
  {
    id: "split-characters",
    what: "pieces that end within a character",
    odd: onCall((asked) => {
      const text = event({
        ...asked.usual,
        result: { content: [{ type: "text", text: "went" }], x: "ü€😀".repeat(20) },
      });
      const exchange = asked.stream();
      for (const byte of utf8.encode(text)) exchange.raw(Uint8Array.of(byte));
      exchange.end();
    }),
  },
  {
    id: "split-json",
    what: "JSON without a length, in pieces",
    odd: everywhere((asked, usual) => {
      const { exchange, session } = asked;
      exchange.open(200, { "content-type": "application/json", ...session });
      for (const byte of utf8.encode(JSON.stringify(usual))) exchange.raw(Uint8Array.of(byte));
      exchange.end();
    }),
  },
];

export const ENCODINGS: OddKind = { kind: "encodings", rows: [...rows, ...BYTES] };
