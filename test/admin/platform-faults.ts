// The platform's objects on a bad day: calls to one of them that fail or hang, and counts of calls.

import { env, exports } from "cloudflare:workers";
import { onTestFinished } from "vitest";
import type { Env } from "../../src/tenantry.ts";
import { aroundCalls } from "../support/workerd/object-calls.ts";

/** What becomes of a call to a method of one of the platform's objects; `undefined`: what usually does. */
export type Spoil = (method: string) => Promise<unknown> | undefined;

/** Until the test ends, or until what it gives is called. */
export function spoilObject(name: string, how: Spoil): Promise<() => void> {
  return spoil(exports.PlatformObject.getByName(name), how);
}

export async function spoil(object: DurableObjectStub, how: Spoil): Promise<() => void> {
  const end = await aroundCalls(object, (method, call) => how(method) ?? call());
  onTestFinished(end);
  return end;
}

/** Longer than anybody waits for it. */
export const hanging = () =>
  scheduler.wait(4000).then(() => {
    throw new Error("nobody waits any more");
  });

/** Bindings that write down which objects are called: `PlatformObject platform bases.resolveAndUse`. */
export function countedEnv(more: Readonly<Record<string, unknown>> = {}): {
  readonly at: Env;
  readonly calls: string[];
} {
  const calls: string[] = [];
  const names = [
    "TenantObject",
    "ContentObject",
    "DirectoryObject",
    "PlatformObject",
    "HubObject",
    "SessionObject",
  ] as const;
  const through = (binding: string, stub: { readonly name?: string }) =>
    new Proxy(stub, {
      get: (target, member) => {
        const found = Reflect.get(target, member) as unknown;
        if (typeof found !== "function") return found;
        return (...args: unknown[]) => {
          calls.push(`${binding} ${target.name ?? ""} ${String(member)}`);
          return (target as Record<string | symbol, (...all: unknown[]) => unknown>)[member]?.(...args);
        };
      },
    });
  const counted = names.map((binding) => {
    const namespace = exports[binding] as unknown as object;
    const proxy = new Proxy(namespace, {
      get: (target, member) => {
        const found = Reflect.get(target, member) as (...args: unknown[]) => unknown;
        if (typeof found !== "function") return found;
        return (...args: unknown[]) => {
          const got = found.apply(target, args);
          return member === "get" || member === "getByName" ? through(binding, got as object) : got;
        };
      },
    });
    return [binding, proxy] as const;
  });
  return { at: { ...env, ...Object.fromEntries(counted), ...more } as Env, calls };
}
