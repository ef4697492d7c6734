// Owns which parts of a tenant's document the author's schemas of `config` and `settings` read: for the handler that asks,
// and beforehand, for whoever writes the document.

import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import { settingOf } from "../../tenants/document/visibility.ts";
import type { BrokenConfig, Configured } from "../../calls/configured.ts";
import type { Catalog } from "./catalog.ts";

/** A tenant under one version of its document. */
export interface ConfiguredPlace {
  readonly catalog: Catalog;
  readonly document: TenantDocument;
  readonly tenant: { readonly id: string };
}

/** What a tool reads; undefined where nothing is written and no schema says what that means. Throws a `ConfigFault`. */
export function toolConfig({ catalog, document, tenant }: ConfiguredPlace, tool: string): unknown {
  const found = settingOf(document, tool);
  const schema = catalog.tools.find(({ name }) => name === tool)?.config;
  const raw = found?.setting.config;
  return schema ? schema.read(raw, `tenant "${tenant.id}": tools.${found?.by ?? tool}.config`) : raw;
}

const NO_SETTINGS = {};

/** Throws a `ConfigFault`. */
export function tenantSettings({ catalog, document, tenant }: ConfiguredPlace): unknown {
  const raw = document.settings ?? NO_SETTINGS;
  return catalog.settings ? catalog.settings.read(raw, `tenant "${tenant.id}": settings`) : raw;
}

/**
 * What of a document the schemas refuse, by field. `has`: whether the tenant has a tool. `isWhole`: nobody can write more, so
 * what is not there is refused too.
 */
export function configFaults(
  { tools, settings }: Pick<Catalog, "tools" | "settings">,
  document: TenantDocument,
  { has, isWhole }: { readonly has: (tool: string) => boolean; readonly isWhole: boolean },
): readonly { readonly field: string; readonly rule: string }[] {
  const look = (schema: Configured | undefined, raw: unknown, field: string) =>
    schema && (isWhole || raw !== undefined) ? schema.faultsOf(raw).map((broken) => placed(field, broken)) : [];
  return [
    ...look(settings, document.settings, "settings"),
    ...tools.flatMap(({ name, config }) => {
      const { by = name, setting } = settingOf(document, name) ?? {};
      return has(name) && setting?.enabled !== false ? look(config, setting?.config, `tools.${by}.config`) : [];
    }),
  ];
}

/** What of a document the schemas know nothing of, by field: a name that is misspelt. */
export function strayConfig(
  { tools, settings }: Pick<Catalog, "tools" | "settings">,
  document: TenantDocument,
): readonly { readonly field: string; readonly rule: string }[] {
  const look = (schema: Configured | undefined, raw: unknown, field: string) =>
    schema?.strayMembers(raw).map((stray) => placed(field, stray)) ?? [];
  return [
    ...look(settings, document.settings, "settings"),
    ...tools.flatMap(({ name, config }) => look(config, document.tools?.[name]?.config, `tools.${name}.config`)),
  ];
}

function placed(field: string, { path, rule }: BrokenConfig) {
  return { field: [field, path].filter(Boolean).join("."), rule };
}
