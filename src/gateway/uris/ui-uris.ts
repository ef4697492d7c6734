// Maps an upstream's user interface URIs (`ui://`) to listed ones that contain the upstream's id, because two upstreams
// may use the same URI. Rewriting a result leaves every other character as it was.
// https://github.com/modelcontextprotocol/ext-apps

import { forEachJsonRange, applyJsonEdits, type JsonEdit } from "../../mcp-client/json-text.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";

const UI_SCHEME = /^ui:\/\//i;

export function isUiUri(uri: string): boolean {
  return UI_SCHEME.test(uri);
}

/** The listed URI. Returns other URIs unchanged. */
export function toListedUri(id: string, uri: string): string {
  return isUiUri(uri) ? `ui://${id}/${uri.slice("ui://".length)}` : uri;
}

/** The upstream's own URI. Returns other URIs unchanged. */
export function toOwnUri(id: string, uri: string): string {
  const authority = `ui://${id}/`;
  return isUiUri(uri) && uri.slice("ui://".length).startsWith(`${id}/`) ? `ui://${uri.slice(authority.length)}` : uri;
}

type Rename = (uri: string) => string;

export function renameToolUi(wire: JsonObject, rename: Rename): JsonObject {
  const { _meta } = wire;
  if (!isObject(_meta)) return wire;
  const renamed = (object: JsonObject, member: string) => {
    const uri = object[member];
    return typeof uri === "string" && isUiUri(uri) ? { ...object, [member]: rename(uri) } : object;
  };
  const { ui } = _meta;
  const meta = renamed(isObject(ui) ? { ..._meta, ui: renamed(ui, "resourceUri") } : _meta, "ui/resourceUri");
  return { ...wire, _meta: meta };
}

/** Whether user interfaces may call the tool. They may, unless it declares a visibility without "app". */
export function isForApps({ _meta }: JsonObject): boolean {
  const { visibility } = isObject(_meta) && isObject(_meta.ui) ? _meta.ui : {};
  return !Array.isArray(visibility) || visibility.includes("app");
}

/** Places where a result names a resource that the reader may request next. "*" stands for each element of an array. */
const PLACES: readonly (readonly string[])[] = [
  ["_meta", "ui", "resourceUri"],
  ["_meta", "ui/resourceUri"],
  ["content", "*", "uri"],
  ["content", "*", "resource", "uri"],
  ["messages", "*", "content", "uri"],
  ["messages", "*", "content", "resource", "uri"],
  ["contents", "*", "uri"],
];

/** May contain the scheme, plain or with escapes. */
const MAY_HAVE_UI = /ui:|\\u00(?:[57]5|[46]9|3a)/i;

/** Returns the same JSON text with each `ui://` URI in these places renamed. */
export function renameResultUris(json: string, rename: Rename): string {
  if (!MAY_HAVE_UI.test(json)) return json;
  const edits: JsonEdit[] = [];
  collectEdits({ json, rename, edits }, 0, PLACES);
  return applyJsonEdits(json, edits);
}

interface Renaming {
  readonly json: string;
  readonly rename: Rename;
  readonly edits: JsonEdit[];
}

type Paths = readonly (readonly string[])[];

function collectEdits(renaming: Renaming, start: number, paths: Paths): void {
  const { json, rename, edits } = renaming;
  const pathsBelow = (name: string): Paths => paths.filter(([step]) => step === name).map((path) => path.slice(1));
  const elementPaths = pathsBelow("*");
  forEachJsonRange(json, start, ({ name, from, to }) => {
    const subpaths = name === undefined ? elementPaths : pathsBelow(name);
    if (subpaths.length === 0) return;
    const begin = json[from];
    if (begin === "{" || begin === "[") collectEdits(renaming, from, subpaths);
    else if (begin === '"' && subpaths.some((path) => path.length === 0)) {
      const uri = JSON.parse(json.slice(from, to)) as string;
      const renamed = isUiUri(uri) ? rename(uri) : uri;
      if (renamed !== uri) edits.push({ from, to, text: JSON.stringify(renamed) });
    }
  });
}
