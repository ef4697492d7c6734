// Owns the event ids from which a notification stream can go on: a version of each log of the tenant, and a digest of each list as it
// was told. Sealed: versions count what changed in the tenant, and most of that may be hidden from whoever listens.

import { seal, unseal, type KeyRing } from "../auth/seal.ts";
import type { FeedState } from "../streams/change-feed.ts";

const PURPOSE = "event";
/** Every version takes as many characters, so that an id is no longer for a larger one. */
const DIGITS = 15;
const UNKNOWN: FeedState = {
  versions: { definitions: -1, content: -1 },
  digests: { tools: "", prompts: "", resources: "" },
};

export async function eventIdOf(ring: KeyRing, { versions, digests }: FeedState): Promise<string> {
  const { tools, prompts, resources } = digests;
  const [definitions, content] = [versions.definitions, versions.content].map((version) =>
    String(Math.max(0, version)).padStart(DIGITS, "0"),
  );
  const place = [definitions, content, tools, prompts, resources];
  return `n.${await seal(ring, PURPOSE, place.join("."))}`;
}

/** The reverse of `eventIdOf`; undefined: it did not make this id. */
export async function parseEventId(ring: KeyRing, eventId: string): Promise<FeedState | undefined> {
  if (!eventId.startsWith("n.")) return undefined;
  const place = await unseal(ring, PURPOSE, eventId.slice(2));
  if (place === undefined) return undefined;
  const [definitions, content, tools = "", prompts = "", resources = "", ...others] = place.split(".");
  // Another release may say more: then all that the stream knows may be old.
  if (others.length > 0) return UNKNOWN;
  return {
    versions: { definitions: Number(definitions), content: Number(content) },
    digests: { tools, prompts, resources },
  };
}
