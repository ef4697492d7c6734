// Rules across members of a document, and between a document and the Worker, which a schema of one member cannot
// check.

import {
  renamingOf,
  type ProfileDocument,
  type PromptDocument,
  acceptsTokens,
  type TenantDocument,
  type FieldRule,
} from "../../tenants/document/tenant-document.ts";
import { renamedNames, targetsOf, type CatalogNames } from "../../tenants/document/deprecation.ts";
import { BOUNDS } from "../../tenants/document/selection-bounds.ts";
import { fullGlobLength, isVisible } from "../../tenants/document/visibility.ts";
import { countContainers } from "../../mcp-client/json-text.ts";
import { parseUri } from "../../protocol/uri.ts";
import { searchTools } from "../../catalog/search-tools.ts";
import type { AdminContext } from "../route.ts";
import { checkNameReferences } from "./check-name-references.ts";

/** A tenant's row holds two documents (its own and the effective one), as does an audit row. A row has at most 2 MB. */
export const MAX_DOCUMENT_BYTES = 900_000;
/** A page of the audit holds several documents, and mostly empty lists take 16 times their bytes once parsed. */
const MAX_DOCUMENT_CONTAINERS = 20_000;
const KINDS = ["tools", "prompts"] as const;

export function documentErrors(document: TenantDocument, catalog: CatalogNames): FieldRule[] {
  const profiles = Object.entries(document.profiles ?? {});
  return [
    ...documentBytesErrors(document),
    ...profiles.flatMap(([name, profile]) => duplicateNameErrors(document, name, profile, catalog)),
    ...Object.entries(document.prompts ?? {}).flatMap(([name, prompt]) => promptErrors(`prompts.${name}`, prompt)),
  ];
}

/**
 * Rejects a mode that needs the feature login(): without the feature, no caller could get in. `auth` itself is
 * accepted by every Worker.
 */
export function missingLoginErrors({ auth, mode }: TenantDocument): FieldRule[] {
  if (auth || !acceptsTokens(mode)) return [];
  return [{ field: "mode", rule: "needs the feature login(), which this Worker does not have" }];
}

/** Rejects members that a base binds: the base overrides them, so writing them would have no effect. */
export function boundMemberErrors(
  bases: readonly TenantDocument[],
  before: TenantDocument,
  own: TenantDocument,
): FieldRule[] {
  return [...new Set(bases.flatMap(({ bind = [] }) => bind))]
    .filter((member) => own[member] !== undefined && JSON.stringify(own[member]) !== JSON.stringify(before[member]))
    .map((member) => ({ field: member, rule: "is bound by a base document" }));
}

/**
 * Checks a tenant's own document or a base by itself, before anything searches it, and so that one cannot break
 * another.
 */
export function documentSizeErrors(document: TenantDocument): FieldRule[] {
  return [...documentBytesErrors(document), ...patternErrors(document)];
}

function documentBytesErrors(document: TenantDocument): FieldRule[] {
  const json = JSON.stringify(document);
  const { byteLength } = new TextEncoder().encode(json);
  if (byteLength > MAX_DOCUMENT_BYTES)
    return [{ field: "", rule: `the document must have at most ${MAX_DOCUMENT_BYTES} bytes` }];
  if (countContainers(json, MAX_DOCUMENT_CONTAINERS) <= MAX_DOCUMENT_CONTAINERS) return [];
  return [{ field: "", rule: `the document must have at most ${MAX_DOCUMENT_CONTAINERS} objects and lists` }];
}

/** Bounds the patterns that are matched against each name one by one. The worst case is a caller with all scopes. */
function patternErrors(document: TenantDocument): FieldRule[] {
  const { scopes = {}, profiles = {} } = document;
  const own = fullGlobLength(document, { profile: undefined, scopes: Object.values(scopes) });
  const most = Object.values(profiles).map((profile) => fullGlobLength({}, { profile, scopes: undefined }));
  if (own + Math.max(0, ...most) <= BOUNDS.innerPatterns) return [];
  const rule = `tools, all scopes and any one profile have at most ${BOUNDS.innerPatterns} characters of patterns with * or ? inside`;
  return [{ field: "", rule }];
}

/**
 * Errors in a base whatever tenant extends it: a tool that neither code nor an upstream can have. `before`: the
 * stored base.
 */
export function baseDocumentErrors(
  { options }: AdminContext,
  document: TenantDocument,
  before: TenantDocument,
): readonly FieldRule[] {
  const errors = documentSizeErrors(document);
  if (errors.length > 0) return errors;
  const tools = new Set([...options.catalog.tools, ...searchTools].map(({ name }) => name));
  const hasUpstreams = options.features?.some(({ upstreams }) => upstreams) ?? false;
  const knownNames = { tools, prompts: undefined, mayListLater: () => hasUpstreams };
  return checkNameReferences(document, before, knownNames).errors;
}

/** Rejects two tools, or two prompts, under one name: a client could reach only one of them. */
function duplicateNameErrors(
  document: TenantDocument,
  name: string,
  profile: ProfileDocument,
  catalog: CatalogNames,
): FieldRule[] {
  return KINDS.flatMap((kind) => {
    const names = renamedNames(kind, [profile]);
    const visibleTargets = targetsOf(document, profile, kind, catalog).filter(
      (target) => names.has(target) && isVisible(document, { profile, scopes: undefined }, kind, target),
    );
    const targetByListedName = new Map<string, string>();
    return visibleTargets.flatMap((target): FieldRule[] => {
      const listed = renamingOf(profile[kind], target)?.name ?? target;
      const other = targetByListedName.get(listed);
      targetByListedName.set(listed, target);
      if (other === undefined) return [];
      const renamed = renamingOf(profile[kind], target)?.name === undefined ? other : target;
      return [
        {
          field: `profiles.${name}.${kind}.rename.${renamed}.name`,
          rule: `another definition is already named "${listed}"`,
        },
      ];
    });
  });
}

const PLACEHOLDER = /\{\{\s*([A-Za-z0-9_.-]+)\s*\}\}/g;

function promptErrors(field: string, { arguments: declared = [], messages }: PromptDocument): FieldRule[] {
  const names = new Set(declared.map((argument) => argument.name));
  return messages.flatMap(({ content }, at): FieldRule[] => {
    if (content.type === "image") return [];
    const member = content.type === "text" ? "text" : "uri";
    const text = content.type === "text" ? content.text : content.uri;
    const place = `${field}.messages.${at}.content.${member}`;
    const unknown = [...text.matchAll(PLACEHOLDER)].map((match) => match[1] ?? "").filter((name) => !names.has(name));
    const rules = unknown.map((name) => ({ field: place, rule: `{{${name}}} is not an argument of this prompt` }));
    return content.type === "text" ? rules : [...rules, ...uriErrors(place, text)];
  });
}

function uriErrors(field: string, template: string): FieldRule[] {
  const parsed = parseUri(template.replaceAll(PLACEHOLDER, "x"));
  return "broken" in parsed ? [{ field, rule: parsed.broken }] : [];
}
