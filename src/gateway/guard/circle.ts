// Owns how a tenant knows its own again when it comes back through upstreams: marks that only the tenant itself can tell
// from others. Refuses to name a tenant: a mark is nothing, sealed with the tenant's keys, and no two of them are alike.

import { seal, unseal, type KeyRing, type SealingKey } from "../../auth/seal.ts";
import type { Fetch } from "../../mcp-client/remote-endpoint.ts";

/**
 * Of a request: the marks of the tenants that a call came through, or `?` where lists are read. Of the answer to that: the
 * marks of all tenants whose things may be in it.
 */
export const VIA = "tenantry-via";
export const WHOSE = "?";
export const LEADS_BACK = "this upstream leads back to this tenant";

/** What a call brings is no answer of ours, and what is heard of an answer cannot be sent with a call to find its tenant. */
const PURPOSES = { call: "via call", answer: "via answer" } as const;
const MARK = /^[\w-]{38}$/;
/** Of a call: hops end it long before. */
const MOST_OF_CALL = 16;
/** In the headers of an answer, which have room for some kilobytes. */
const MOST_OF_ANSWER = 100;
const MANY = "*";

/** The marks in a header, and nothing else that may stand there. */
function marksIn(text: string): readonly string[] {
  return text
    .split(",", MOST_OF_ANSWER + 1)
    .map((mark) => mark.trim())
    .filter((mark) => MARK.test(mark));
}

async function newMark(ring: KeyRing, purpose: string): Promise<string> {
  const sealed = await seal(ring, purpose, "");
  return sealed.slice(sealed.indexOf(".") + 1);
}

async function hasOwn(ring: KeyRing, purpose: string, marks: readonly string[]): Promise<boolean> {
  for (const mark of marks)
    for (const { id } of ring) if ((await unseal(ring, purpose, `${id}.${mark}`)) !== undefined) return true;
  return false;
}

/** By the key that seals it: a call costs no other. */
const ofCalls = new WeakMap<SealingKey, string>();

async function markOfCalls(ring: KeyRing): Promise<string> {
  const made = await newMark(ring, PURPOSES.call);
  const [key] = ring;
  if (key) ofCalls.set(key, made);
  return made;
}

/** What a call brings on to an upstream. undefined: it has been at this tenant's upstreams before. */
export function viaOfCall(ring: KeyRing, brought: string | null): string | Promise<string | undefined> {
  const [key] = ring;
  const own = (key && ofCalls.get(key)) ?? markOfCalls(ring);
  return brought === null ? own : viaAfter(ring, brought, own);
}

async function viaAfter(ring: KeyRing, brought: string, own: string | Promise<string>): Promise<string | undefined> {
  const marks = marksIn(brought).slice(-MOST_OF_CALL);
  if (await hasOwn(ring, PURPOSES.call, marks)) return undefined;
  return [...marks, await own].join();
}

/** What a reader is told: through which tenants all of this came. `sources`: what their upstreams told, each. */
export async function viaOfAnswer(ring: KeyRing, sources: readonly (string | undefined)[]): Promise<string> {
  const all = sources.flatMap((via = "") => (via === MANY ? [MANY] : marksIn(via)));
  if (all.includes(MANY) || all.length >= MOST_OF_ANSWER) return MANY;
  return [await newMark(ring, PURPOSES.answer), ...all].join();
}

/** Hears in answers whose things they have. */
export class ViaHeard {
  #heard = "";

  /** As upstreams told it; undefined: they know nothing of tenants. */
  get via(): string | undefined {
    if (this.#heard === MANY) return MANY;
    return marksIn(this.#heard).join() || undefined;
  }

  /** The same way out. All answers of a reading say the same; of two that do not, the longer one is believed. */
  through(leave: Fetch): Fetch {
    return async (url, init) => {
      const response = await leave(url, init);
      const via = response.headers.get(VIA) ?? "";
      if (via === MANY || (this.#heard !== MANY && via.length > this.#heard.length)) this.#heard = via;
      return response;
    };
  }

  /** Why what was read is not to be listed; undefined: it is another's. */
  async refusal(ringOf: () => Promise<KeyRing>): Promise<string | undefined> {
    const { via } = this;
    if (via === undefined) return undefined;
    if (via === MANY) return `it leads through more than ${MOST_OF_ANSWER} tenants, perhaps in a circle`;
    return (await hasOwn(await ringOf(), PURPOSES.answer, marksIn(via))) ? LEADS_BACK : undefined;
  }
}
