// Owns what the members of a whole document say about each other, and about what the Worker has: what a schema of one
// member cannot see. Pure.

import {
  renamingOf,
  type ProfileDocument,
  type PromptDocument,
  takesTokens,
  type TenantDocument,
} from "../../tenants/document/tenant-document.ts";
import { namesGiven, targetsOf, type CatalogNames } from "../../tenants/document/retirement.ts";
import { BOUNDS } from "../../tenants/document/selection-bounds.ts";
import { innerLength, isVisible } from "../../tenants/document/visibility.ts";
import { containersIn } from "../../mcp-client/json-text.ts";
import { parseUri } from "../../protocol/uri.ts";
import { searchTools } from "../../content/serve/search-tools.ts";
import type { FieldRule } from "../field-rule.ts";
import type { Desk } from "../route.ts";
import { judgeNames } from "./named-things.ts";

/** A tenant's row holds two documents (its own and the effective one), as does an audit row; a row has at most 2 MB. */
export const MAX_DOCUMENT_BYTES = 900_000;
/** A page of the audit has several documents, and mostly empty lists take 16 times their bytes when they are read. */
const MAX_DOCUMENT_CONTAINERS = 20_000;
const KINDS = ["tools", "prompts"] as const;

export function brokenRules(document: TenantDocument, catalog: CatalogNames): FieldRule[] {
  const profiles = Object.entries(document.profiles ?? {});
  return [
    ...tooLarge(document),
    ...profiles.flatMap(([name, profile]) => sameNames(document, name, profile, catalog)),
    ...Object.entries(document.prompts ?? {}).flatMap(([name, prompt]) => promptRules(`prompts.${name}`, prompt)),
  ];
}

/** What a Worker without the feature cannot keep: nobody would be let in. Of `auth` every Worker says it. */
export function withoutLogin({ auth, mode }: TenantDocument): FieldRule[] {
  if (auth || !takesTokens(mode)) return [];
  return [{ field: "mode", rule: "needs the feature login(), which this Worker does not have" }];
}

/** What a base binds lies under the tenant's own document without effect: writing it would be believed to have one. */
export function boundMembers(
  bases: readonly TenantDocument[],
  before: TenantDocument,
  own: TenantDocument,
): FieldRule[] {
  return [...new Set(bases.flatMap(({ bind = [] }) => bind))]
    .filter((member) => own[member] !== undefined && JSON.stringify(own[member]) !== JSON.stringify(before[member]))
    .map((member) => ({ field: member, rule: "is bound by a base document" }));
}

/** Of a tenant's own document or a base, by itself: before anything looks through it, and so that none breaks another. */
export function beyondBounds(document: TenantDocument): FieldRule[] {
  return [...tooLarge(document), ...tooManyPatterns(document)];
}

function tooLarge(document: TenantDocument): FieldRule[] {
  const json = JSON.stringify(document);
  const { byteLength } = new TextEncoder().encode(json);
  if (byteLength > MAX_DOCUMENT_BYTES) return [{ field: "", rule: `has at most ${MAX_DOCUMENT_BYTES} bytes` }];
  if (containersIn(json, MAX_DOCUMENT_CONTAINERS) <= MAX_DOCUMENT_CONTAINERS) return [];
  return [{ field: "", rule: `has at most ${MAX_DOCUMENT_CONTAINERS} objects and lists` }];
}

/** Of patterns that are held against each name one by one, for whoever has all scopes. */
function tooManyPatterns(document: TenantDocument): FieldRule[] {
  const { scopes = {}, profiles = {} } = document;
  const own = innerLength(document, { profile: undefined, scopes: Object.values(scopes) });
  const most = Object.values(profiles).map((profile) => innerLength({}, { profile, scopes: undefined }));
  if (own + Math.max(0, ...most) <= BOUNDS.innerPatterns) return [];
  const rule = `tools, all scopes and any one profile have at most ${BOUNDS.innerPatterns} characters of patterns with * or ? inside`;
  return [{ field: "", rule }];
}

/**
 * What is wrong with a base whoever extends it: a tool that no code has and no upstream can. `before`: the base as it is stored.
 */
export function brokenBase({ options }: Desk, document: TenantDocument, before: TenantDocument): readonly FieldRule[] {
  const errors = beyondBounds(document);
  if (errors.length > 0) return errors;
  const tools = new Set([...options.catalog.tools, ...searchTools].map(({ name }) => name));
  const hasUpstreams = options.features?.some(({ upstreams }) => upstreams) ?? false;
  const things = { tools, prompts: undefined, mayHave: () => hasUpstreams };
  return judgeNames(document, before, things).refused;
}

/** Refuses two tools, or two prompts, under one name: a client could only reach one of them. */
function sameNames(
  document: TenantDocument,
  name: string,
  profile: ProfileDocument,
  catalog: CatalogNames,
): FieldRule[] {
  return KINDS.flatMap((kind) => {
    const names = namesGiven(kind, [profile]);
    const seen = targetsOf(document, profile, kind, catalog).filter(
      (target) => names.has(target) && isVisible(document, { profile, scopes: undefined }, kind, target),
    );
    const owners = new Map<string, string>();
    return seen.flatMap((target): FieldRule[] => {
      const listed = renamingOf(profile[kind], target)?.name ?? target;
      const other = owners.get(listed);
      owners.set(listed, target);
      if (other === undefined) return [];
      const renamed = renamingOf(profile[kind], target)?.name === undefined ? other : target;
      return [
        { field: `profiles.${name}.${kind}.rename.${renamed}.name`, rule: `"${listed}" is the name of another here` },
      ];
    });
  });
}

const PLACEHOLDER = /\{\{\s*([A-Za-z0-9_.-]+)\s*\}\}/g;

function promptRules(field: string, { arguments: declared = [], messages }: PromptDocument): FieldRule[] {
  const names = new Set(declared.map((argument) => argument.name));
  return messages.flatMap(({ content }, at): FieldRule[] => {
    if (content.type === "image") return [];
    const member = content.type === "text" ? "text" : "uri";
    const text = content.type === "text" ? content.text : content.uri;
    const place = `${field}.messages.${at}.content.${member}`;
    const unknown = [...text.matchAll(PLACEHOLDER)].map((match) => match[1] ?? "").filter((name) => !names.has(name));
    const rules = unknown.map((name) => ({ field: place, rule: `{{${name}}} is not an argument of this prompt` }));
    return content.type === "text" ? rules : [...rules, ...uriRules(place, text)];
  });
}

function uriRules(field: string, template: string): FieldRule[] {
  const parsed = parseUri(template.replaceAll(PLACEHOLDER, "x"));
  return "broken" in parsed ? [{ field, rule: parsed.broken }] : [];
}
