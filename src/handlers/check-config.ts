// Owns which parts of a tenant's document the author's schemas of `config` and `settings` read: for the handler that asks,
// and beforehand, for whoever writes the document.

import type { TenantDocument } from "../tenants/document/tenant-document.ts";
import { settingOf } from "../tenants/document/visibility.ts";
import type { ConfigViolation, TypedConfig } from "./typed-config.ts";
import type { Catalog } from "./catalog.ts";

/** A tenant under one version of its document. */
export interface ConfiguredTenant {
  readonly catalog: Catalog;
  readonly document: TenantDocument;
  readonly tenant: { readonly id: string };
}

/** What a tool reads; undefined where nothing is written and no schema says what that means. Throws a `ConfigFault`. */
export function toolConfig({ catalog, document, tenant }: ConfiguredTenant, tool: string): unknown {
  const toolSetting = settingOf(document, tool);
  const schema = catalog.tools.find(({ name }) => name === tool)?.config;
  const raw = toolSetting?.setting.config;
  return schema ? schema.read(raw, `tenant "${tenant.id}": tools.${toolSetting?.by ?? tool}.config`) : raw;
}

const NO_SETTINGS = {};

/** Throws a `ConfigFault`. */
export function tenantSettings({ catalog, document, tenant }: ConfiguredTenant): unknown {
  const raw = document.settings ?? NO_SETTINGS;
  return catalog.settings ? catalog.settings.read(raw, `tenant "${tenant.id}": settings`) : raw;
}

/**
 * What of a document the schemas refuse, by field. `has`: whether the tenant has a tool. `isWhole`: nobody can write more, so
 * what is not there is refused too.
 */
export function configErrors(
  { tools, settings }: Pick<Catalog, "tools" | "settings">,
  document: TenantDocument,
  { has, isComplete }: { readonly has: (tool: string) => boolean; readonly isComplete: boolean },
): readonly { readonly field: string; readonly rule: string }[] {
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

/** What of a document the schemas know nothing of, by field: a name that is misspelt. */
export function unknownConfigMembers(
  { tools, settings }: Pick<Catalog, "tools" | "settings">,
  document: TenantDocument,
): readonly { readonly field: string; readonly rule: string }[] {
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
