// Owns the keys of the operators' authorization server as an isolate has them. Refuses to have it asked for every token:
// nobody who brings tokens that no key has signed makes it be read more often than every ten seconds.

import type { JSONWebKeySet } from "jose";
import { issuerKeys, type IssuerKeys } from "../../auth/jwt.ts";
import { lasts } from "../../tenants/isolate/lasting.ts";
import { readIssuer } from "../issuers/read-issuer.ts";

/** How often it is read while nobody misses a key. */
const READ_EVERY_MS = 600_000;
const PAUSE_MS = 10_000;
/** Whoever has no keys waits so long for who reads them. */
const WAITS_MS = 3_000;
const LOOKS_EVERY_MS = 50;
/** For so long the keys of a server that cannot be read are good: it could not withdraw any. */
const GOOD_FOR_MS = 86_400_000;
/** Its connections are counted as those of a tenant that nobody can make. */
const NOBODY = "operators of the platform";

interface Held {
  readonly issuer: string;
  keys: IssuerKeys | undefined;
  /** Milliseconds since the epoch, as those below. */
  readAt: number;
  triedAt: number;
  isReading: boolean;
}

export interface KeyGround {
  readonly env: unknown;
  readonly onError: (error: unknown) => void;
}

type ReadKeys = (issuer: string, ground: Pick<KeyGround, "env">) => Promise<JSONWebKeySet>;

const readKeys: ReadKeys = (issuer, { env }) => readIssuer(issuer, false, { tenant: NOBODY, env });

/** `newer`: those that are held have not signed a token. undefined: there are none. */
export type OperatorKeys = (issuer: string, ground: KeyGround, newer: boolean) => Promise<IssuerKeys | undefined>;

/** An isolate has one, with the keys of one server: `read` and `clock` are a test's to say. */
export function operatorKeys(read: ReadKeys = readKeys, clock: () => number = Date.now): OperatorKeys {
  let held: Held | undefined;
  return async (issuer, ground, newer) => {
    if (held?.issuer !== issuer) held = { issuer, keys: undefined, readAt: 0, triedAt: 0, isReading: false };
    const mine = held;
    const asked = clock();
    const isWanted = newer || !lasts(mine.readAt + READ_EVERY_MS, READ_EVERY_MS, asked);
    if (isWanted && !lasts(mine.triedAt + PAUSE_MS, PAUSE_MS, asked)) await readInto(mine, ground, { read, clock });
    // Another request of the isolate reads them: its promise is its own, so what it brings is looked for.
    const isDone = () => !mine.isReading || (mine.keys !== undefined && !newer);
    for (let waited = 0; !isDone() && waited < WAITS_MS; waited += LOOKS_EVERY_MS) await scheduler.wait(LOOKS_EVERY_MS);
    // Newer ones than can be read now may have signed it.
    if (newer && mine.readAt < mine.triedAt) return undefined;
    return lasts(mine.readAt + GOOD_FOR_MS, GOOD_FOR_MS, clock()) ? mine.keys : undefined;
  };
}

interface Means {
  readonly read: ReadKeys;
  readonly clock: () => number;
}

async function readInto(held: Held, { env, onError }: KeyGround, { read, clock }: Means): Promise<void> {
  held.triedAt = clock();
  held.isReading = true;
  try {
    held.keys = issuerKeys(await read(held.issuer, { env }));
    held.readAt = held.triedAt;
  } catch (error) {
    onError(error);
  } finally {
    held.isReading = false;
  }
}
