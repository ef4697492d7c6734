// Owns the warnings of names where a Worker is developed: of tools that clients refuse, and of what a tenant in code selects and nothing in
// code has, in scopes, and of prompts in profiles, which operators may still write. Not in what is deployed. What has to be there is refused at start: check-deployment.ts.

import type { Catalog } from "../content/define/catalog.ts";
import { searchTools } from "../content/serve/search-tools.ts";
import { LISTED_NAME, LISTED_NAME_RULE } from "../protocol/client-rules.ts";
import { meant } from "../protocol/nearest.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";
import type { Deployment } from "./deployment.ts";

const KINDS = ["tools", "prompts"] as const;

interface Warned {
  readonly catalog: Pick<Catalog, (typeof KINDS)[number]>;
  readonly tenants: Deployment["tenants"];
}

/** Says each once, at start. */
export function warnOfNames({ catalog, tenants }: Warned): void {
  const known = {
    tools: [...catalog.tools, ...searchTools].map(({ name }) => name),
    prompts: catalog.prompts.map(({ name }) => name),
  };
  for (const { name } of catalog.tools.filter((tool) => !LISTED_NAME.test(tool.name))) {
    // oxlint-disable-next-line no-console
    console.warn(
      `tool "${name}": Claude, Codex and Copilot refuse all tools for one such name; use ${LISTED_NAME_RULE}`,
    );
  }
  for (const { id, base } of tenants.values()) {
    for (const [member, kind, names] of selectedIn(base)) {
      // A pattern may match nothing yet, and what upstreams offer has their id in its name.
      for (const name of names.filter((one) => !/[*?]|__/.test(one) && !known[kind].includes(one))) {
        const what = `there is no ${kind.slice(0, -1)} "${name}"${meant(name, known[kind])}`;
        // oxlint-disable-next-line no-console
        console.warn(`tenant "${id}": ${member}.${kind}: ${what}`);
      }
    }
  }
}

type Selected = readonly [member: string, kind: (typeof KINDS)[number], names: readonly string[]];

function selectedIn({ profiles = {}, scopes = {} }: TenantDocument): Selected[] {
  const ofScopes = Object.entries(scopes).flatMap(([scope, granted]) =>
    KINDS.map((kind): Selected => [`scopes.${scope}`, kind, granted[kind] ?? []]),
  );
  // Tools in profiles are refused.
  const ofProfiles = Object.entries(profiles).map(
    ([profile, { prompts: { allow = [], deny = [], rename = {} } = {} }]) => {
      return [`profiles.${profile}`, "prompts", [...allow, ...deny, ...Object.keys(rename)]] satisfies Selected;
    },
  );
  return [...ofScopes, ...ofProfiles];
}
