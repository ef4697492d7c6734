// Applies the author's schemas of `config` and `settings` to a tenant's document: for a handler that reads them, and
// for an operator who writes the document.

import type { TenantDocument, FieldRule } from "../tenants/document/tenant-document.ts";
import { settingOf } from "../tenants/document/visibility.ts";
import type { ConfigViolation, TypedConfig } from "./typed-config.ts";
import type { Catalog } from "./catalog.ts";

/** A tenant and one version of its document. */
export interface ConfiguredTenant {
  readonly catalog: Catalog;
  readonly document: TenantDocument;
  readonly tenant: { readonly id: string };
}

/**
 * The config that a tool reads; undefined when the document has none and no schema gives a default. Throws a
 * `ConfigError`.
 */
export function toolConfig({ catalog, document, tenant }: ConfiguredTenant, tool: string): unknown {
  const toolSetting = settingOf(document, tool);
  const schema = catalog.tools.find(({ name }) => name === tool)?.config;
  const raw = toolSetting?.setting.config;
  return schema ? schema.read(raw, `tenant "${tenant.id}": tools.${toolSetting?.by ?? tool}.config`) : raw;
}

const NO_SETTINGS = {};

/** Throws a `ConfigError`. */
export function tenantSettings({ catalog, document, tenant }: ConfiguredTenant): unknown {
  const raw = document.settings ?? NO_SETTINGS;
  return catalog.settings ? catalog.settings.read(raw, `tenant "${tenant.id}": settings`) : raw;
}

/**
 * The parts of a document that the schemas reject, by field. `has`: whether the tenant has a tool. `isComplete`: the
 * document is final, so missing required parts are rejected too.
 */
export function configErrors(
  { tools, settings }: Pick<Catalog, "tools" | "settings">,
  document: TenantDocument,
  { has, isComplete }: { readonly has: (tool: string) => boolean; readonly isComplete: boolean },
): readonly FieldRule[] {
  const check = (schema: TypedConfig | undefined, raw: unknown, field: string) =>
    schema && (isComplete || raw !== undefined)
      ? schema.violationsOf(raw).map((error) => toFieldError(field, error))
      : [];
  return [
    ...check(settings, document.settings, "settings"),
    ...tools.flatMap(({ name, config }) => {
      const { by = name, setting } = settingOf(document, name) ?? {};
      return has(name) && setting?.enabled !== false ? check(config, setting?.config, `tools.${by}.config`) : [];
    }),
  ];
}

/** Members of a document that no schema knows, by field: usually misspelled names. */
export function unknownConfigMembers(
  { tools, settings }: Pick<Catalog, "tools" | "settings">,
  document: TenantDocument,
): readonly FieldRule[] {
  const check = (schema: TypedConfig | undefined, raw: unknown, field: string) =>
    schema?.unknownMembers(raw).map((stray) => toFieldError(field, stray)) ?? [];
  return [
    ...check(settings, document.settings, "settings"),
    ...tools.flatMap(({ name, config }) => check(config, document.tools?.[name]?.config, `tools.${name}.config`)),
  ];
}

function toFieldError(field: string, { path, rule }: ConfigViolation) {
  return { field: [field, path].filter(Boolean).join("."), rule };
}
