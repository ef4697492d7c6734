// Owns what kind of file a file is: its media type by extension, and whether it is text, by its bytes.
// A file that claims to be text and is not valid UTF-8 is sent as bytes, so that decoding it loses nothing.

import { createReadStream } from "node:fs";
import { extname } from "node:path";

const BYTES = "application/octet-stream";

const BY_EXTENSION: Readonly<Record<string, string>> = {
  ...spread("text/plain", "txt text log conf cfg ini env properties"),
  ...spread("text/markdown", "md markdown mdx"),
  ...spread("text/html", "html htm"),
  ...spread("text/css", "css"),
  ...spread("text/csv", "csv"),
  ...spread("text/tab-separated-values", "tsv"),
  ...spread("text/calendar", "ics"),
  ...spread("text/javascript", "js mjs cjs jsx"),
  ...spread("text/x-typescript", "ts mts cts tsx"),
  ...spread("text/x-python", "py"),
  ...spread("text/x-shellscript", "sh bash zsh fish"),
  ...spread("text/x-c", "c h cc cpp hpp"),
  ...spread("text/x-java", "java kt"),
  ...spread("text/x-go", "go"),
  ...spread("text/x-rust", "rs"),
  ...spread("text/x-ruby", "rb"),
  ...spread("text/x-diff", "diff patch"),
  ...spread("text/x-rst", "rst"),
  ...spread("application/json", "json map geojson webmanifest"),
  ...spread("application/x-ndjson", "ndjson jsonl"),
  ...spread("application/yaml", "yaml yml"),
  ...spread("application/toml", "toml"),
  ...spread("application/xml", "xml xsd xsl"),
  ...spread("application/sql", "sql"),
  ...spread("application/graphql", "graphql gql"),
  ...spread("image/svg+xml", "svg"),
  ...spread("image/png", "png"),
  ...spread("image/jpeg", "jpg jpeg"),
  ...spread("image/gif", "gif"),
  ...spread("image/webp", "webp"),
  ...spread("image/avif", "avif"),
  ...spread("image/bmp", "bmp"),
  ...spread("image/tiff", "tif tiff"),
  ...spread("image/x-icon", "ico"),
  ...spread("audio/mpeg", "mp3"),
  ...spread("audio/wav", "wav"),
  ...spread("audio/ogg", "ogg oga opus"),
  ...spread("audio/flac", "flac"),
  ...spread("audio/mp4", "m4a"),
  ...spread("video/mp4", "mp4 m4v"),
  ...spread("video/webm", "webm"),
  ...spread("video/quicktime", "mov"),
  ...spread("font/woff", "woff"),
  ...spread("font/woff2", "woff2"),
  ...spread("font/ttf", "ttf"),
  ...spread("font/otf", "otf"),
  ...spread("application/pdf", "pdf"),
  ...spread("application/zip", "zip"),
  ...spread("application/gzip", "gz tgz"),
  ...spread("application/x-tar", "tar"),
  ...spread("application/wasm", "wasm"),
  ...spread("application/epub+zip", "epub"),
  ...spread("application/vnd.sqlite3", "sqlite sqlite3"),
  ...spread("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
  ...spread("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
  ...spread("application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"),
};

function spread(mimeType: string, extensions: string): Record<string, string> {
  return Object.fromEntries(extensions.split(" ").map((extension) => [extension, mimeType]));
}

export async function mimeTypeOf(file: string): Promise<string> {
  const known = BY_EXTENSION[extname(file).slice(1).toLowerCase()];
  if (known !== undefined && !isTextType(known)) return known;
  return (await isText(file)) ? (known ?? "text/plain") : BYTES;
}

export function isTextType(mimeType: string): boolean {
  return /^text\/|^application\/(?:json|x-ndjson|yaml|toml|xml|sql|graphql|javascript)$|\+(?:json|xml|yaml)$/.test(
    mimeType.split(";", 1)[0]?.trim().toLowerCase() ?? "",
  );
}

/** A file is text if all of it is UTF-8 without NUL. Most files that are not text show it in the first piece. */
async function isText(file: string): Promise<boolean> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      if (chunk.includes(0)) return false;
      decoder.decode(chunk, { stream: true });
    }
    decoder.decode();
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

export function looksLikeText(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
