// Keeps the token of a stored sign-in fresh: renews it before it expires, once for all programs on this machine. An
// expired token is never sent.

import { changeConfig, type Config, type ConfigContext, type SavedSignIn } from "../config-file.ts";
import { CliError, EXIT } from "../exit.ts";
import { IssuerClient, SignInError, type SignInClient, type Tokens } from "./issuer-client.ts";

/**
 * Renews this long before expiry, or at half of the lifetime if that is later: the request takes time, and clocks
 * differ.
 */
const RENEWAL_MARGIN_MS = 60_000;

interface SignInToken {
  readonly token: string;
  readonly signIn: SavedSignIn;
}

/** Returns a function for the current token; call it for each request. */
export function createTokenGetter(
  url: string,
  initial: SignInToken,
  context: ConfigContext,
): (signal: AbortSignal) => Promise<string> {
  let current = initial;
  let renewing: Promise<SignInToken> | undefined;
  return async (signal) => {
    if (Date.now() < current.signIn.renews) return current.token;
    renewing ??= renewSignIn(url, context, signal).finally(() => {
      renewing = undefined;
    });
    current = await renewing;
    return current.token;
  };
}

export function toSignInToken({ issuer, clientId, scopes, audience }: SignInClient, tokens: Tokens): SignInToken {
  const { token, expires, refreshToken } = tokens;
  const renews = expires - Math.min(RENEWAL_MARGIN_MS, (expires - Date.now()) / 2);
  const client = { issuer, clientId, scopes, ...(audience !== undefined && { audience }) };
  return { token, signIn: { ...client, expires, renews, refreshToken } };
}

/** A program that waited for the lock uses the token that another program fetched. */
async function renewSignIn(url: string, context: ConfigContext, signal: AbortSignal): Promise<SignInToken> {
  let renewed: SignInToken | undefined;
  await changeConfig(context, async (config) => {
    const saved = savedSignInOf(config, url);
    if (!saved) throw signInEnded(url);
    renewed = Date.now() < saved.signIn.renews ? saved : await refreshSignIn(url, saved, signal);
    if (renewed === saved) return config;
    return withSignIn(config, url, renewed);
  });
  return renewed ?? Promise.reject(signInEnded(url));
}

async function refreshSignIn(url: string, saved: SignInToken, signal: AbortSignal): Promise<SignInToken> {
  const { refreshToken, expires } = saved.signIn;
  const isValid = Date.now() < expires;
  if (refreshToken === undefined) return isValid ? saved : Promise.reject(signInEnded(url));
  try {
    const current = isValid ? { token: saved.token, expires } : undefined;
    return toSignInToken(saved.signIn, await new IssuerClient(saved.signIn, signal).refresh(refreshToken, current));
  } catch (error) {
    // The current token stays valid while its issuer is unreachable.
    if (isValid && !(error instanceof SignInError)) return saved;
    throw error;
  }
}

export function savedSignInOf({ tokens = {}, signIns = {} }: Config, url: string): SignInToken | undefined {
  const token = Object.hasOwn(tokens, url) ? tokens[url] : undefined;
  const signIn = Object.hasOwn(signIns, url) ? signIns[url] : undefined;
  return token === undefined || signIn === undefined ? undefined : { token, signIn };
}

export function withSignIn(config: Config, url: string, { token, signIn }: SignInToken): Config {
  return {
    ...config,
    tokens: { ...config.tokens, [url]: token },
    signIns: { ...config.signIns, [url]: signIn },
  };
}

function signInEnded(url: string): CliError {
  return new CliError(EXIT.notAuthorised, `the sign-in to ${url} has ended: run tenantry login --url ${url}`);
}
