// The client with which a Worker calls a tenant's login tables, and the wait for an end of access to take effect.

import { withRetries } from "../../streams/with-retries.ts";
import { createRpcClient, type RpcClient } from "../../tenants/object/store.ts";
import { withTimeoutOrBusy } from "../../tenants/cache/with-timeout.ts";
import type { LoginContext } from "../login-context.ts";
import { OAuthError } from "./oauth-responses.ts";
import { loginStore, type EndResult, type LoginMethods } from "./login-store.ts";
import type { TokenRejection } from "./token-rows.ts";

/**
 * A call is retried after a lost answer, when it may have been applied already. Each method therefore gives the same
 * result again.
 */
export function getLoginStub({ tenantContext }: Pick<LoginContext, "tenantContext">): RpcClient<LoginMethods> {
  return createRpcClient(
    { call: (...args) => withTimeoutOrBusy(withRetries(() => tenantContext.stub().call(...args))) },
    loginStore,
  );
}

/** Resolves when no Worker accepts the ended credentials any more. */
export async function waitForEnd(result: EndResult): Promise<void> {
  if ("leftMs" in result && result.leftMs > 0) await scheduler.wait(result.leftMs);
}

/** An error to throw. Resolves when no ended credential is valid anywhere any more. */
export async function toTokenError({ error, why, endResult: ended }: TokenRejection): Promise<OAuthError> {
  if (ended) await waitForEnd(ended);
  return new OAuthError(error, why);
}
