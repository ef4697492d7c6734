// The ground of a tenant's login for tests without a Worker: what its object keeps of clients is a map.

import type { RefreshContext } from "../../../src/deployment/deployment.ts";
import type { StoredClient } from "../../../src/login/server/client-methods.ts";

export interface FakeClientLookup {
  readonly tend: RefreshContext;
  readonly stored: Map<string, StoredClient>;
  /** Methods that were called, in order. */
  readonly calls: readonly string[];
  readonly errors: readonly unknown[];
}

let made = 0;

/** Of a tenant of its own: what was asked for another counts for nothing here. */
export function fakeClientLookup({ isFull = false } = {}): FakeClientLookup {
  const stored = new Map<string, StoredClient>();
  const calls: string[] = [];
  const errors: unknown[] = [];
  const call = async (method: string, [given]: readonly unknown[]) => {
    calls.push(method);
    if (method === "login.getClient") return stored.get(String(given)) ?? null;
    const one = given as StoredClient;
    if (!isFull) stored.set(one.client.id, one);
    return !isFull;
  };
  made += 1;
  const tend = {
    tenant: `login-${made}`,
    env: { OUTBOUND_RESOLVER: "off" },
    stub: () => ({ call }),
    onError: (error: unknown) => errors.push(error),
  };
  return { tend: tend as unknown as RefreshContext, stored, calls, errors };
}
