// Event ids from which a notification stream can resume: the version of each of the tenant's logs, and a digest of each
// list as last sent. Sealed, because versions count the tenant's changes, most of which may be hidden from the
// listener.

import { seal, unseal, type KeyRing } from "../auth/seal.ts";
import type { FeedState } from "../streams/change-feed.ts";

const PURPOSE = "event";
/** Pads every version to the same length, so that an id's length reveals nothing. */
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

/** The inverse of `eventIdOf`; undefined if the id is not one of ours. */
export async function parseEventId(ring: KeyRing, eventId: string): Promise<FeedState | undefined> {
  if (!eventId.startsWith("n.")) return undefined;
  const place = await unseal(ring, PURPOSE, eventId.slice(2));
  if (place === undefined) return undefined;
  const [definitions, content, tools = "", prompts = "", resources = "", ...others] = place.split(".");
  // Another release may use more fields; then all state of the stream counts as outdated.
  if (others.length > 0) return UNKNOWN;
  return {
    versions: { definitions: Number(definitions), content: Number(content) },
    digests: { tools, prompts, resources },
  };
}
