// Texts about a tenant's login for operators: the identity provider, the page with granted access, and a warning if
// `auth` has no effect in the tenant's mode.

import type { Infer, TenantShape } from "../../admin/contract.ts";

type Effective = Infer<typeof TenantShape>["effective"];

const TOKEN_MODES = /^(?:(?:key\+)?oauth|mixed)$/;
const KEY_MODES = /^(?:key(?:\+oauth)?|mixed)$/;

/** undefined: the document has no `auth`, or all of it has an effect. */
export function ignoredAuthText({ auth, mode = "open" }: Pick<Effective, "auth" | "mode">): string | undefined {
  if (!auth || TOKEN_MODES.test(mode)) return undefined;
  return `auth has no effect in the mode ${mode}: to let people sign in, set mode: key+oauth, or oauth without keys`;
}

export function signInEntries({ effective, url }: Pick<Infer<typeof TenantShape>, "effective" | "url">) {
  const { auth, mode = "open" } = effective;
  const { login, issuers = [] } = auth ?? {};
  const issuersText = issuers.length === 0 ? "" : `tokens of ${issuers.map(({ issuer }) => issuer).join(", ")}`;
  const parts = [login ? `by ${login.via}${login.issuer === undefined ? "" : ` at ${login.issuer}`}` : "", issuersText];
  const isOn = TOKEN_MODES.test(mode);
  return [
    ["sign-in", ignoredAuthText(effective) ?? parts.filter(Boolean).join("; ")],
    ["account", login && isOn ? url.replace(/\/mcp(?=\/[^/]*$|$)/, "/account") : undefined],
  ] as const;
}

/** The next step after creating a tenant; empty: none. */
export function nextStep(id: string, { mode = "open", auth }: Pick<Effective, "auth" | "mode">): string {
  const wantsKey = mode === "key" || (KEY_MODES.test(mode) && auth?.login?.via === "key");
  if (!wantsKey) return "";
  return `\nIt needs a key${mode === "key" ? "" : " that somebody signs in with"}: tenantry key create ${id} --name first`;
}
