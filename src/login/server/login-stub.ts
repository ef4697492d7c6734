// Owns how a Worker reaches a tenant's login tables, and what it waits for before it says that something ended.

import { withRetries } from "../../streams/with-retries.ts";
import { createRpcClient, type RpcClient } from "../../tenants/object/store.ts";
import { withTimeoutOrBusy } from "../../tenants/cache/with-timeout.ts";
import type { LoginContext } from "../login-context.ts";
import { OAuthError } from "./oauth-responses.ts";
import { loginStore, type EndResult, type LoginMethods } from "./login-store.ts";
import type { TokenRejection } from "./token-rows.ts";

/** What it calls may have been done where the answer was lost, and is asked for again: each method gives the same then. */
export function getLoginStub({ tenantContext }: Pick<LoginContext, "tenantContext">): RpcClient<LoginMethods> {
  return createRpcClient(
    { call: (...args) => withTimeoutOrBusy(withRetries(() => tenantContext.stub().call(...args))) },
    loginStore,
  );
}

/** Until no Worker serves what was before. */
export async function waitForEnd(result: EndResult): Promise<void> {
  if ("leftMs" in result && result.leftMs > 0) await scheduler.wait(result.leftMs);
}

/** To be thrown: by then nothing that was ended is good anywhere. */
export async function toTokenError({ error, why, endResult: ended }: TokenRejection): Promise<OAuthError> {
  if (ended) await waitForEnd(ended);
  return new OAuthError(error, why);
}
