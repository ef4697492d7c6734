// Owns refreshing: of all who bring one refresh token at about the same time the first wins, and all have its answer. Who
// vouched for the person is asked first, where that was long ago, by one for all.

import { hashToken } from "../../auth/api-key.ts";
import { seal, unseal, type KeyRing } from "../../auth/seal.ts";
import { given } from "../../protocol/members.ts";
import { persistently } from "../../streams/persistently.ts";
import type { LoginVisit } from "../login-visit.ts";
import type { Confirmed, SignedIn, SignIn } from "../sign-in/sign-in.ts";
import { WAYS } from "../sign-in/ways.ts";
import { awayFor, OAuthError } from "./answers.ts";
import { loginOf, refusalOfToken, untilEnded } from "./login-door.ts";
import { openProvider, sealProvider } from "./provider-seal.ts";
import { answerTokens, type FreshTokens } from "./token-answer.ts";
import type { KeptProvider } from "./login-tables.ts";
import type { TokenRefreshAsk, Refreshed } from "./token-rows.ts";

/** How old the provider's word may be. */
const CONFIRMED_MS = 3_600_000;
const WAITS_MS = 10_000;
const LOOKS_EVERY_MS = 200;
const PURPOSE = "refreshed";

export async function refreshTokens(
  visit: LoginVisit,
  old: string,
  { fresh, by }: { readonly fresh: FreshTokens; readonly by: Omit<TokenRefreshAsk, "old" | "answer" | "confirmedMs"> },
): Promise<Response> {
  const ring = await ringOf(old);
  const { access, refresh } = fresh;
  const answer = await seal(ring, PURPOSE, JSON.stringify({ access, refresh }));
  const way = WAYS[visit.login.via];
  const ask = { ...by, old: await hashToken(old), answer, confirmedMs: way?.confirm ? CONFIRMED_MS : null };
  const refreshed = await confirmedRefresh(visit, ask, way);
  if (refreshed.state === "refused") throw await refusalOfToken(refreshed);
  if (refreshed.state === "wait") throw tooMany(refreshed.until);
  const winners = await unseal(ring, PURPOSE, refreshed.answer);
  if (winners === undefined) throw new Error("an answer was sealed by another token than its own");
  return answerTokens(JSON.parse(winners) as typeof fresh, refreshed);
}

/** Only who has the old token can open what is sealed so. */
async function ringOf(old: string): Promise<KeyRing> {
  const text = new TextEncoder().encode(`answer ${old}`);
  return [{ id: "old", secret: new Uint8Array(await crypto.subtle.digest("SHA-256", text)) }];
}

function tooMany(until: number): OAuthError {
  const seconds = Math.max(1, Math.ceil((until - Date.now()) / 1000));
  const why = "too many access tokens are good at once: use one until it ends";
  return new OAuthError("temporarily_unavailable", why, 429, { "retry-after": String(seconds) });
}

/** What of a visit it takes to ask. */
type Confirming = Parameters<NonNullable<SignIn["confirm"]>>[0] & Pick<LoginVisit, "waitUntil">;
type Settled = Exclude<Refreshed, { readonly state: "confirm" }>;

/** `way`: how the person signed in; undefined: nobody can be asked. */
export async function confirmedRefresh(
  visit: Confirming,
  ask: TokenRefreshAsk,
  way: SignIn | undefined,
): Promise<Settled> {
  const tables = loginOf(visit);
  for (const until = Date.now() + WAITS_MS; Date.now() < until;) {
    const refreshed = await tables.refresh(ask);
    if (refreshed.state !== "confirm") return refreshed;
    const { grant } = refreshed;
    const claim = await tables.claimProvider(grant);
    if (claim.state === "claimed" && claim.provider !== null && way) {
      const asked = askProvider(visit, way, { grant, sealed: claim.provider, person: claim.person });
      // The request may end before the provider answers, and a new refresh token is given once.
      visit.waitUntil(asked.catch(() => {}));
      await Promise.race([asked, scheduler.wait(until - Date.now())]);
    } else await scheduler.wait(LOOKS_EVERY_MS);
  }
  throw away();
}

function away(): OAuthError {
  return awayFor("who signed the person in cannot be asked right now: try again", 30);
}

interface Held {
  readonly grant: string;
  readonly sealed: string;
  readonly person: SignedIn;
}

/** undefined: nobody can open what they would be asked by. */
async function confirmedBy(
  visit: Confirming,
  way: SignIn,
  { grant, sealed, person }: Held,
): Promise<Confirmed | undefined> {
  try {
    const provider = await openProvider(visit.ground, grant, sealed);
    return provider && (await way.confirm?.(visit, provider, person));
  } catch (error) {
    visit.ground.onError(error);
    return { state: "away" };
  }
}

async function askProvider(visit: Confirming, way: SignIn, held: Held): Promise<void> {
  const tables = loginOf(visit);
  const { grant } = held;
  const confirmed = await confirmedBy(visit, way, held);
  const tokens = confirmed && "provider" in confirmed ? confirmed.provider : undefined;
  const provider = tokens && (await sealProvider(visit.ground, grant, tokens));
  // The provider may give a refresh token only once, so an overloaded object is asked again.
  const keep = (more: KeptProvider) =>
    persistently(() => tables.keepProvider(grant, { ...given({ provider }), ...more }), true);
  if (confirmed?.state === "confirmed") {
    await keep({ ...given({ person: confirmed.person }), confirmed: true });
  } else if (confirmed?.state === "away") {
    await keep({});
    throw away();
  } else {
    await untilEnded(await tables.endGrant(grant, { name: "tenantry" }));
    throw new OAuthError("invalid_grant", "who signed the person in does not let them in any more");
  }
}
