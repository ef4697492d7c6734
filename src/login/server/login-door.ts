// Owns how a Worker reaches a tenant's login tables, and what it waits for before it says that something ended.

import { persistently } from "../../streams/persistently.ts";
import { remote, type Remote } from "../../tenants/authority/tables.ts";
import { reached } from "../../tenants/isolate/in-time.ts";
import type { LoginVisit } from "../login-visit.ts";
import { OAuthError } from "./answers.ts";
import { loginTables, type Ended, type LoginMethods } from "./login-tables.ts";
import type { TokenRefused } from "./token-rows.ts";

/** What it calls may have been done where the answer was lost, and is asked for again: each method gives the same then. */
export function loginOf({ ground }: Pick<LoginVisit, "ground">): Remote<LoginMethods> {
  return remote({ call: (...called) => reached(persistently(() => ground.stub().call(...called))) }, loginTables);
}

/** Until no Worker serves what was before. */
export async function untilEnded(ended: Ended): Promise<void> {
  if ("leftMs" in ended && ended.leftMs > 0) await scheduler.wait(ended.leftMs);
}

/** To be thrown: by then nothing that was ended is good anywhere. */
export async function refusalOfToken({ error, why, ended }: TokenRefused): Promise<OAuthError> {
  if (ended) await untilEnded(ended);
  return new OAuthError(error, why);
}
