// Owns the token that the provider gave when the person signed in, as it is kept with their grant. One Worker renews it, and
// keeps what it was given before anybody uses it: a provider may take a refresh token once. Others wait for that.

import type { TendGround } from "../../deployment/deployment.ts";
import { given } from "../../protocol/members.ts";
import { persistently } from "../../streams/persistently.ts";
import type { LoginDocument } from "../../tenants/document/tenant-document.ts";
import { loginOf } from "../server/login-door.ts";
import type { KeptProvider, ProviderClaim } from "../server/login-tables.ts";
import { openProvider, sealProvider } from "../server/provider-seal.ts";
import type { ProviderTokens } from "../sign-in/sign-in.ts";
import { WAYS } from "../sign-in/ways.ts";
import { IdentityError } from "./identity-error.ts";
import type { IdentityAsk, IdentityToken } from "./identity-ask.ts";

/** One that ends sooner is renewed. */
const LEAST_MS = 60_000;
/** Where nobody said when it ends. */
const UNSAID_MS = 60_000;
const WAITS_MS = 12_000;
const LOOKS_EVERY_MS = 200;

interface Held {
  readonly ground: TendGround;
  readonly grant: string;
}

export async function providerToken({ ground, tend, person, scopes }: IdentityAsk): Promise<IdentityToken> {
  const { grant = "" } = person;
  const held = { ground: tend, grant };
  const { login } = tend.document.auth ?? {};
  if (!login) throw new IdentityError("unset");
  const tables = loginOf(held);
  for (const until = Date.now() + WAITS_MS; Date.now() < until; await scheduler.wait(LOOKS_EVERY_MS)) {
    const tokens = await opened(held, await tables.providerOf(grant));
    if (lastsOf(tokens) > LEAST_MS) return tokenIn(tokens, scopes);
    const claim = await tables.claimProvider(grant);
    if (claim.state !== "claimed") continue;
    const renewing = renewed(held, login, claim);
    // Whoever asked may go away, and what the provider gives is given once.
    ground.waitUntil(renewing.catch(() => {}));
    const newer = await Promise.race([renewing, scheduler.wait(until - Date.now())]);
    if (newer) return tokenIn(newer, scopes);
  }
  throw new IdentityError("away");
}

async function opened({ ground, grant }: Held, sealed: string | null): Promise<ProviderTokens> {
  const tokens = sealed === null ? undefined : await openProvider(ground, grant, sealed);
  if (!tokens) throw new IdentityError("again");
  return tokens;
}

function lastsOf({ expires = Infinity }: ProviderTokens): number {
  return expires - Date.now();
}

function tokenIn({ access, scope, expires }: ProviderTokens, scopes: readonly string[]): IdentityToken {
  const granted = scope?.split(" ");
  if (granted && !scopes.every((one) => granted.includes(one))) throw new IdentityError("scopes");
  return { token: access, until: expires ?? Date.now() + UNSAID_MS };
}

/** For whoever has claimed it. */
async function renewed(
  held: Held,
  login: LoginDocument,
  { provider: sealed, person }: Pick<Extract<ProviderClaim, { state: "claimed" }>, "provider" | "person">,
): Promise<ProviderTokens> {
  const { ground, grant } = held;
  let kept: KeptProvider = {};
  try {
    const before = await opened(held, sealed);
    // By somebody who was done before the claim.
    if (lastsOf(before) > LEAST_MS) return before;
    const confirmed =
      before.refresh === undefined ? undefined : await WAYS[login.via]?.confirm?.({ ground, login }, before, person);
    if (confirmed?.state === "away") {
      if (confirmed.provider) kept = { provider: await sealProvider(ground, grant, confirmed.provider) };
      throw new IdentityError("away");
    }
    if (confirmed?.state !== "confirmed" || !confirmed.provider) throw new IdentityError("again");
    const provider = await sealProvider(ground, grant, confirmed.provider);
    kept = { ...given({ provider, person: confirmed.person }), confirmed: true };
    return confirmed.provider;
  } finally {
    await persistently(async () => loginOf(held).keepProvider(grant, kept));
  }
}
