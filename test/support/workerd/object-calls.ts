// Calls of the methods of an object that keeps tables, such as `policy.lease`, as tests get between them.

import { runInDurableObject } from "cloudflare:test";

type Method = (this: object, ...args: unknown[]) => unknown;

/** Of a stub, or of the object itself from within. */
export const callOn = (instance: object, method: string, ...args: unknown[]): unknown =>
  (instance as Record<string, Method>)[method]?.(...args);

/** An object of which every such method is answered by `answer`; `args` begins with whom the call means. */
export function keeperOf(answer: (method: string, args: unknown[]) => unknown): object {
  return new Proxy(
    {},
    {
      get: (_none, member) =>
        isOfTables(member) ? async (...args: unknown[]) => answer(member, args) : (undefined as unknown),
    },
  );
}

/** Calls of one object go through `around` from now on; `call` goes on with it. Gives what ends that. */
export async function aroundCalls(
  object: DurableObjectStub,
  around: (method: string, call: () => unknown, args: readonly unknown[]) => unknown,
): Promise<() => void> {
  let isOver = false;
  await runInDurableObject(object, (instance: object) => {
    // A method of an object's own is none that can be called from elsewhere.
    const shared = Object.getPrototypeOf(instance) as Record<string, Method>;
    for (const method of methodsOf(shared)) {
      const before = shared[method] ?? (() => undefined);
      shared[method] = function (this: object, ...args) {
        const call = () => before.apply(this, args);
        return this === instance && !isOver ? around(method, call, args) : call();
      };
    }
  });
  return () => {
    isOver = true;
  };
}

function methodsOf(shared: object): string[] {
  const names = [];
  for (let at: unknown = shared; at; at = Object.getPrototypeOf(at)) names.push(...Object.getOwnPropertyNames(at));
  return [...new Set(names.filter(isOfTables))];
}

function isOfTables(member: string | symbol): member is string {
  return typeof member === "string" && member.includes(".");
}
