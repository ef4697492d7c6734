// Owns the names of user interfaces (`ui://`) of an upstream: here they have the upstream in their authority, as two
// upstreams may call theirs alike. Pure. Rewrites a result where it names one, and leaves every other character of it.
// https://github.com/modelcontextprotocol/ext-apps

import { eachJsonPlace, edited, type JsonEdit } from "../../mcp-client/json-text.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";

const UI = /^ui:\/\//i;

export function isUi(uri: string): boolean {
  return UI.test(uri);
}

/** As it is named here. Any other URI stays as it is. */
export function listedUi(id: string, uri: string): string {
  return isUi(uri) ? `ui://${id}/${uri.slice("ui://".length)}` : uri;
}

/** As the upstream names it. */
export function ownUi(id: string, uri: string): string {
  const authority = `ui://${id}/`;
  return isUi(uri) && uri.slice("ui://".length).startsWith(`${id}/`) ? `ui://${uri.slice(authority.length)}` : uri;
}

type Rename = (uri: string) => string;

/** The same definition, with the interface of a tool under its name here. */
export function withUi(wire: JsonObject, rename: Rename): JsonObject {
  const { _meta } = wire;
  if (!isObject(_meta)) return wire;
  const renamed = (of: JsonObject, member: string) => {
    const uri = of[member];
    return typeof uri === "string" && isUi(uri) ? { ...of, [member]: rename(uri) } : of;
  };
  const { ui } = _meta;
  const meta = renamed(isObject(ui) ? { ..._meta, ui: renamed(ui, "resourceUri") } : _meta, "ui/resourceUri");
  return { ...wire, _meta: meta };
}

/** Whether user interfaces may call the tool: they may, unless it says for whom it is and does not name them. */
export function isForApps({ _meta }: JsonObject): boolean {
  const { visibility } = isObject(_meta) && isObject(_meta.ui) ? _meta.ui : {};
  return !Array.isArray(visibility) || visibility.includes("app");
}

/** Where a result names a resource that its reader may ask for next; "*": each of a list. */
const PLACES: readonly (readonly string[])[] = [
  ["_meta", "ui", "resourceUri"],
  ["_meta", "ui/resourceUri"],
  ["content", "*", "uri"],
  ["content", "*", "resource", "uri"],
  ["messages", "*", "content", "uri"],
  ["messages", "*", "content", "resource", "uri"],
  ["contents", "*", "uri"],
];

/** What may be the scheme, in escapes too. */
const MAY_HAVE_UI = /ui:|\\u00(?:[57]5|[46]9|3a)/i;

/** The same JSON text, with each `ui://` in the places of a result renamed. */
export function renameUi(json: string, rename: Rename): string {
  if (!MAY_HAVE_UI.test(json)) return json;
  const edits: JsonEdit[] = [];
  collect({ json, rename, edits }, 0, PLACES);
  return edited(json, edits);
}

interface Renaming {
  readonly json: string;
  readonly rename: Rename;
  readonly edits: JsonEdit[];
}

type Paths = readonly (readonly string[])[];

function collect(renaming: Renaming, start: number, paths: Paths): void {
  const { json, rename, edits } = renaming;
  const behind = (name: string): Paths => paths.filter(([step]) => step === name).map((path) => path.slice(1));
  const ofElements = behind("*");
  eachJsonPlace(json, start, ({ name, from, to }) => {
    const further = name === undefined ? ofElements : behind(name);
    if (further.length === 0) return;
    const begin = json[from];
    if (begin === "{" || begin === "[") collect(renaming, from, further);
    else if (begin === '"' && further.some((path) => path.length === 0)) {
      const uri = JSON.parse(json.slice(from, to)) as string;
      const renamed = isUi(uri) ? rename(uri) : uri;
      if (renamed !== uri) edits.push({ from, to, text: JSON.stringify(renamed) });
    }
  });
}
