// Owns what `explain` says of a tenant's sources: what one leaves out, what it lacks under a name, and what nobody knows of it
// because it could not be read.

import type { RequestScope } from "../../handlers/request-scope.ts";
import { withDetail } from "../../gateway/read-failure.ts";
import { suggestName } from "../suggest-name.ts";
import type { Cause } from "../../protocol/cause.ts";
import type { Source, SourceState } from "../../protocol/source.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { Kind } from "../../tenants/document/visibility.ts";
import { STATE_WORDS } from "../contract.ts";

export interface SourceReasons {
  readonly all: readonly string[];
  /** Why what a source has is not listed, or that it has no such thing. */
  readonly hiddenReasons: readonly string[];
  /** Sources that may have it, as far as anybody knows. */
  readonly unreadSources: readonly string[];
  /** The causes of those in `unread`. */
  readonly causes: readonly (Cause & { readonly reason: string; readonly source: string })[];
}

export interface ExplainTarget {
  readonly kind: Kind;
  /** As it was asked for. */
  readonly name: string;
  /** Before any renaming. */
  readonly target: string;
  readonly isListed: boolean;
}

/** What a source leaves out, and what it may lack because it could not be read. */
export function sourceReasons(
  sources: readonly Source<RequestScope>[],
  document: TenantDocument,
  { kind, name, target, isListed }: ExplainTarget,
): SourceReasons {
  const disabled = disabledReasons(document, target);
  const belongsTo = (id: string) => target.startsWith(`${id}__`);
  // What is nowhere, and has no source's name before it, may be of each that could not be read.
  const mayBelongToAny = !isListed && disabled.length === 0 && !sources.some(({ id }) => belongsTo(id));
  const bySource = sources.map((source) => {
    const { id, state, detail, withheld } = source;
    const hiddenItems = (withheld?.() ?? []).filter((one) => one.kind === kind && [name, target].includes(one.name));
    if (hiddenItems.length > 0) {
      return { unread: [], causes: [], lacks: hiddenItems.map(({ why }) => `source ${id}: leaves it out: ${why}`) };
    }
    const isKnown = belongsTo(id) && state.kind !== "unread" && kind !== "resources";
    const unread = belongsTo(id) || mayBelongToAny ? stateReasons(id, { state, detail }, isListed) : [];
    const causes = ("causes" in state && state.causes) || [];
    return {
      unread,
      causes: unread.flatMap((reason) => causes.map((cause) => ({ ...cause, reason, source: id }))),
      lacks: isKnown ? unlistedReasons(id, source[kind], target) : [],
    };
  });
  return {
    all: [...bySource.flatMap(({ unread, lacks }) => [...unread, ...lacks]), ...disabled],
    hiddenReasons: [...bySource.flatMap(({ lacks }) => lacks), ...disabled],
    unreadSources: bySource.flatMap(({ unread }) => unread),
    causes: bySource.flatMap(({ causes }) => causes),
  };
}

/** What is switched off is no source, so nothing else says why its definitions are nowhere. */
function disabledReasons({ upstreams = {} }: TenantDocument, target: string): string[] {
  return Object.entries(upstreams)
    .filter(([id, { enabled }]) => enabled === false && target.startsWith(`${id}__`))
    .map(([id]) => `source ${id}: ${STATE_WORDS.disabled}`);
}

function stateReasons(
  id: string,
  { state, detail }: { readonly state: SourceState; readonly detail: string | undefined },
  isListed: boolean,
): string[] {
  if (state.kind === "fresh" || (state.kind === "degraded" && isListed)) return [];
  const since =
    state.kind === "lastGood" ? ` since ${new Date(state.since).toISOString()}, what it had then stays` : "";
  return [`source ${id}: ${STATE_WORDS[state.kind]}: ${withDetail(state.why, detail)}${since}`];
}

/** A name that is misspelt, or that its upstream has no more. */
function unlistedReasons(id: string, items: readonly { readonly name: string }[], target: string): string[] {
  const names = items.map((one) => one.name);
  // What all of them begin with says nothing about how near they are.
  const own = (name: string) => name.slice(id.length + 2);
  const suggestion = suggestName(own(target), names.map(own));
  const hint = suggestion === undefined ? "" : `: did you mean ${id}__${suggestion}?`;
  return names.includes(target) ? [] : [`source ${id}: lists nothing under this name${hint}`];
}
