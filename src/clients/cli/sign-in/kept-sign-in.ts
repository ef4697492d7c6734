// Owns the token of a sign-in from when it was kept: the newest one, got before the last one ends, once for all programs of
// this machine. Refuses to go on with one that has ended.

import { changeConfig, type Config, type ConfigPlace, type KeptSignIn } from "../config-file.ts";
import { CliError, EXIT } from "../exit.ts";
import { IssuerClient, SignInRefused, type SignInClient, type Tokens } from "./issuer-client.ts";

/** So long before its end, or half of its life where that is less, it is renewed: it has to arrive, and clocks differ. */
const MARGIN_MS = 60_000;

interface Kept {
  readonly token: string;
  readonly signIn: KeptSignIn;
}

/** The token to send now; each time it is asked for. */
export function tokenOfSignIn(url: string, first: Kept, place: ConfigPlace): (signal: AbortSignal) => Promise<string> {
  let kept = first;
  let renewing: Promise<Kept> | undefined;
  return async (signal) => {
    if (Date.now() < kept.signIn.renews) return kept.token;
    renewing ??= renew(url, place, signal).finally(() => {
      renewing = undefined;
    });
    kept = await renewing;
    return kept.token;
  };
}

export function keptOf({ issuer, clientId, scopes, audience }: SignInClient, tokens: Tokens): Kept {
  const { token, expires, refreshToken } = tokens;
  const renews = expires - Math.min(MARGIN_MS, (expires - Date.now()) / 2);
  const about = { issuer, clientId, scopes, ...(audience !== undefined && { audience }) };
  return { token, signIn: { ...about, expires, renews, refreshToken } };
}

/** Whoever waited for another program finds what that one got. */
async function renew(url: string, place: ConfigPlace, signal: AbortSignal): Promise<Kept> {
  let renewed: Kept | undefined;
  await changeConfig(place, async (config) => {
    const known = keptIn(config, url);
    if (!known) throw ended(url);
    renewed = Date.now() < known.signIn.renews ? known : await refreshed(url, known, signal);
    if (renewed === known) return config;
    return withSignIn(config, url, renewed);
  });
  return renewed ?? Promise.reject(ended(url));
}

async function refreshed(url: string, known: Kept, signal: AbortSignal): Promise<Kept> {
  const { refreshToken, expires } = known.signIn;
  const isGood = Date.now() < expires;
  if (refreshToken === undefined) return isGood ? known : Promise.reject(ended(url));
  try {
    const good = isGood ? { token: known.token, expires } : undefined;
    return keptOf(known.signIn, await new IssuerClient(known.signIn, signal).refresh(refreshToken, good));
  } catch (error) {
    // It is as good as it was while its server cannot be reached.
    if (isGood && !(error instanceof SignInRefused)) return known;
    throw error;
  }
}

export function keptIn({ tokens = {}, signIns = {} }: Config, url: string): Kept | undefined {
  const token = Object.hasOwn(tokens, url) ? tokens[url] : undefined;
  const signIn = Object.hasOwn(signIns, url) ? signIns[url] : undefined;
  return token === undefined || signIn === undefined ? undefined : { token, signIn };
}

export function withSignIn(config: Config, url: string, { token, signIn }: Kept): Config {
  return {
    ...config,
    tokens: { ...config.tokens, [url]: token },
    signIns: { ...config.signIns, [url]: signIn },
  };
}

function ended(url: string): CliError {
  return new CliError(EXIT.notAuthorised, `the sign-in to ${url} has ended: run tenantry login --url ${url}`);
}
