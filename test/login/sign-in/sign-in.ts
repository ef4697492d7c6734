// A visit to a tenant's login for tests inside workerd: a tenant with its real authority, and a provider that answers
// what the Worker fetches.

import { env } from "cloudflare:workers";
import { generateKeyPair, type GenerateKeyPairResult } from "jose";
import { toBase64Url } from "../../../src/auth/seal.ts";
import type { RefreshContext } from "../../../src/deployment/deployment.ts";
import type { LoginContext } from "../../../src/login/login-context.ts";
import type {
  IdentityProviderClient,
  SignInSuccess,
  SignInFailure,
} from "../../../src/login/sign-in/identity-provider-client.ts";
import type { TenantStub } from "../../../src/tenants/object/tenant-uid.ts";
import { DEFAULT_PLACEMENT } from "../../../src/tenants/directory/placement.ts";
import type { LoginDocument } from "../../../src/tenants/document/tenant-document.ts";
import { identityProvider, type IdentityProvider, type ProviderKind } from "../../support/identity-provider.ts";
import { issuerStore } from "../../../src/login/issuers/issuer-store.ts";
import { servedTenant } from "../../support/workerd/served-tenant.ts";
import { withStore, type FreshTenant } from "../../support/workerd/tenant.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

export const SECRET = "s3cret-of-the-client:+/";
export const CLIENT = "client-of-acme";

let keys: GenerateKeyPairResult | undefined;

/** One whose clients are `CLIENT` with its secret, at the callback of this issuer. */
export async function providerFor(issuer: string, kind: ProviderKind = "openid"): Promise<IdentityProvider> {
  const made: IdentityProvider[] = [];
  const { origin } = new URL(upstreamAt((request) => made[0]?.answer(request) ?? Response.error()));
  const redirect = `${issuer}/callback`;
  const clients = { [CLIENT]: { secret: SECRET, redirect }, other: { secret: SECRET, redirect }, open: { redirect } };
  keys ??= await generateKeyPair("RS256", { extractable: true });
  const provider = await identityProvider({ origin, kind, clients, keys });
  made.push(provider);
  return provider;
}

export const ISSUER = "https://mcp.example.com/login/acme";

export async function contextWith(login: LoginDocument, issuer = ISSUER, secrets: Record<string, string> = {}) {
  const document = { mode: "oauth", auth: { login } } as const;
  const tenant = await servedTenant(document);
  const known: Record<string, string> = { CLIENT: SECRET, ...secrets };
  const logged: unknown[] = [];
  const tenantContext: RefreshContext = {
    tenant: tenant.id,
    placement: DEFAULT_PLACEMENT,
    created: "",
    revision: 1,
    document,
    sectionHashes: new Map(),
    server: { name: "test", version: "1" },
    env: { ...env, SECRETS_KEY: toBase64Url(new Uint8Array(32).fill(1)) },
    stub: () => withIssuers(tenant),
    secret: async (name) => known[name],
    onError: (error) => void logged.push(error),
  };
  const urls = {
    issuer,
    account: issuer.replace("/login/", "/account/"),
    resource: issuer.replace("/login/", "/mcp/"),
  };
  const context = {
    request: new Request(issuer),
    body: "",
    path: "/authorize",
    urls,
    login,
    tenantContext,
    ring: [],
    clientAddress: "",
  };
  return { context: context as unknown as LoginContext, logged };
}

/** The fixture Worker has no `login()`: the tables of issuers are opened on the tenant's object by hand. */
function withIssuers(tenant: FreshTenant): TenantStub {
  return {
    call: (method, args, isIdempotent) => {
      const [tables, name] = method.split(".");
      return tables === issuerStore.name
        ? withStore(issuerStore, ({ methods }) => Reflect.apply(methods[name as "claim"], methods, args), { tenant })
        : tenant.stub.call(method, args, isIdempotent);
    },
  };
}

/** From the beginning to the end, with what comes back changed on its way. */
export async function signInWith(
  way: IdentityProviderClient,
  context: LoginContext,
  { visit: browse }: Pick<IdentityProvider, "visit">,
  change: (answer: URLSearchParams) => void = () => {},
): Promise<SignInSuccess | SignInFailure> {
  const begun = await way.begin?.(context, "state-of-this-browser");
  if (begun?.kind !== "begun") return begun ?? Promise.reject(new Error("nothing begins it"));
  const answer = (await browse(begun.location)).searchParams;
  change(answer);
  return way.finish(context, answer, begun.providerState);
}
