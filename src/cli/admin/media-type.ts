// The media type of a file by its extension, and whether it is text by its bytes. A text type with invalid UTF-8 is
// sent as bytes, so that decoding loses nothing.

import { createReadStream } from "node:fs";
import { extname } from "node:path";

const BINARY_TYPE = "application/octet-stream";

const BY_EXTENSION: Readonly<Record<string, string>> = {
  ...extensionsOf("text/plain", "txt text log conf cfg ini env properties"),
  ...extensionsOf("text/markdown", "md markdown mdx"),
  ...extensionsOf("text/html", "html htm"),
  ...extensionsOf("text/css", "css"),
  ...extensionsOf("text/csv", "csv"),
  ...extensionsOf("text/tab-separated-values", "tsv"),
  ...extensionsOf("text/calendar", "ics"),
  ...extensionsOf("text/javascript", "js mjs cjs jsx"),
  ...extensionsOf("text/x-typescript", "ts mts cts tsx"),
  ...extensionsOf("text/x-python", "py"),
  ...extensionsOf("text/x-shellscript", "sh bash zsh fish"),
  ...extensionsOf("text/x-c", "c h cc cpp hpp"),
  ...extensionsOf("text/x-java", "java kt"),
  ...extensionsOf("text/x-go", "go"),
  ...extensionsOf("text/x-rust", "rs"),
  ...extensionsOf("text/x-ruby", "rb"),
  ...extensionsOf("text/x-diff", "diff patch"),
  ...extensionsOf("text/x-rst", "rst"),
  ...extensionsOf("application/json", "json map geojson webmanifest"),
  ...extensionsOf("application/x-ndjson", "ndjson jsonl"),
  ...extensionsOf("application/yaml", "yaml yml"),
  ...extensionsOf("application/toml", "toml"),
  ...extensionsOf("application/xml", "xml xsd xsl"),
  ...extensionsOf("application/sql", "sql"),
  ...extensionsOf("application/graphql", "graphql gql"),
  ...extensionsOf("image/svg+xml", "svg"),
  ...extensionsOf("image/png", "png"),
  ...extensionsOf("image/jpeg", "jpg jpeg"),
  ...extensionsOf("image/gif", "gif"),
  ...extensionsOf("image/webp", "webp"),
  ...extensionsOf("image/avif", "avif"),
  ...extensionsOf("image/bmp", "bmp"),
  ...extensionsOf("image/tiff", "tif tiff"),
  ...extensionsOf("image/x-icon", "ico"),
  ...extensionsOf("audio/mpeg", "mp3"),
  ...extensionsOf("audio/wav", "wav"),
  ...extensionsOf("audio/ogg", "ogg oga opus"),
  ...extensionsOf("audio/flac", "flac"),
  ...extensionsOf("audio/mp4", "m4a"),
  ...extensionsOf("video/mp4", "mp4 m4v"),
  ...extensionsOf("video/webm", "webm"),
  ...extensionsOf("video/quicktime", "mov"),
  ...extensionsOf("font/woff", "woff"),
  ...extensionsOf("font/woff2", "woff2"),
  ...extensionsOf("font/ttf", "ttf"),
  ...extensionsOf("font/otf", "otf"),
  ...extensionsOf("application/pdf", "pdf"),
  ...extensionsOf("application/zip", "zip"),
  ...extensionsOf("application/gzip", "gz tgz"),
  ...extensionsOf("application/x-tar", "tar"),
  ...extensionsOf("application/wasm", "wasm"),
  ...extensionsOf("application/epub+zip", "epub"),
  ...extensionsOf("application/vnd.sqlite3", "sqlite sqlite3"),
  ...extensionsOf("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
  ...extensionsOf("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
  ...extensionsOf("application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"),
};

function extensionsOf(mimeType: string, extensions: string): Record<string, string> {
  return Object.fromEntries(extensions.split(" ").map((extension) => [extension, mimeType]));
}

export async function mimeTypeOf(file: string): Promise<string> {
  const known = BY_EXTENSION[extname(file).slice(1).toLowerCase()];
  if (known !== undefined && !isTextType(known)) return known;
  return (await isText(file)) ? (known ?? "text/plain") : BINARY_TYPE;
}

function isTextType(mimeType: string): boolean {
  return /^text\/|^application\/(?:json|x-ndjson|yaml|toml|xml|sql|graphql|javascript)$|\+(?:json|xml|yaml)$/.test(
    mimeType.split(";", 1)[0]?.trim().toLowerCase() ?? "",
  );
}

/** A file is text if all of it is UTF-8 without NUL. Most binary files fail this in the first chunk. */
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
