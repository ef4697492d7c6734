// Owns the names of the platform's objects and the way to them: the one that decides, and the replicas of what it decided
// for every tenant, which isolates ask in its place.

import { openSocket, type Opened } from "../../streams/held-socket.ts";
import { beforeAnother } from "../../tenants/isolate/asked-again.ts";
import { inTime } from "../../tenants/isolate/in-time.ts";
import { namespaceOf } from "../../tenants/directory/namespaces.ts";
import { meaning, WHOEVER, type Again, type Keeper, type TenantStub } from "../../tenants/authority/incarnation.ts";

const MAIN = "platform";
/** A replica that does not answer by then holds up hearing for the whole isolate. */
const OPENED_WITHIN_MS = 5000;
/** A replica exists from when it is asked first, so a release may have another number of them than the one before. */
export const REPLICAS = 4;
export const replicaName = (number: number) => `policy-${number % REPLICAS}`;

export function platformOf(env: object): TenantStub {
  return platformAt(env, MAIN);
}

export function platformAt(env: object, name: string): TenantStub {
  const keeper = () => namespaceOf(env, "PlatformObject").getByName(name) as unknown as Keeper;
  return keptBy(keeper(), async (call, error) => {
    await beforeAnother(call, error);
    return keeper();
  });
}

/** There is nobody else whom a platform's object could keep something for. */
export function keptBy(object: Keeper, again?: Again): TenantStub {
  return meaning(object, WHOEVER, again);
}

/** A socket on which the replica tells that something else is stopped. Rejects where it takes too long. */
export async function openWatch(env: object, replica: number): Promise<Opened> {
  const name = replicaName(replica);
  const opening = openSocket(namespaceOf(env, "PlatformObject").getByName(name), {});
  try {
    return await inTime(opening, OPENED_WITHIN_MS, name);
  } catch (error) {
    void opening.then(letGo, () => {});
    throw error;
  }
}

/** Nobody listens to it any more, and it would stay open at the object. */
function letGo(opened: Opened): void {
  if (!("socket" in opened)) return;
  opened.socket.accept();
  opened.socket.close(1000);
}
