import type { RequestScope } from "../../handlers/request-scope.ts";
import { withDetail } from "../../gateway/read-failure.ts";
import { suggestName } from "../../protocol/did-you-mean.ts";
import type { Cause } from "../../protocol/cause.ts";
import type { Source, SourceState } from "../../protocol/source.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { Kind } from "../../tenants/document/visibility.ts";
import { STATE_WORDS } from "../contract.ts";

export interface SourceReasons {
  readonly all: readonly string[];
  /** Why a source does not list the definition, or that the source has no such definition. */
  readonly hiddenReasons: readonly string[];
  /** Sources that may have the definition, because they could not be read. */
  readonly unreadSources: readonly string[];
  /** The causes of the reasons in `unreadSources`. */
  readonly causes: readonly (Cause & { readonly reason: string; readonly source: string })[];
}

export interface ExplainTarget {
  readonly kind: Kind;
  readonly name: string;
  /** The name before any renaming. */
  readonly target: string;
  readonly isListed: boolean;
}

/** Definitions that a source leaves out, and definitions that are unknown because a source could not be read. */
export function sourceReasons(
  sources: readonly Source<RequestScope>[],
  document: TenantDocument,
  { kind, name, target, isListed }: ExplainTarget,
): SourceReasons {
  const disabled = disabledReasons(document, target);
  const belongsTo = (id: string) => target.startsWith(`${id}__`);
  // An unlisted name without a source's prefix may belong to any source that could not be read.
  const mayBelongToAny = !isListed && disabled.length === 0 && !sources.some(({ id }) => belongsTo(id));
  const bySource = sources.map((source) => {
    const { id, state, detail, withheld } = source;
    const hiddenItems = (withheld?.() ?? []).filter((one) => one.kind === kind && [name, target].includes(one.name));
    if (hiddenItems.length > 0) {
      return {
        unread: [],
        causes: [],
        hiddenReasons: hiddenItems.map(({ why }) => `source ${id}: leaves it out: ${why}`),
      };
    }
    const isKnown = belongsTo(id) && state.kind !== "unread" && kind !== "resources";
    const unread = belongsTo(id) || mayBelongToAny ? stateReasons(id, { state, detail }, isListed) : [];
    const causes = ("causes" in state && state.causes) || [];
    return {
      unread,
      causes: unread.flatMap((reason) => causes.map((cause) => ({ ...cause, reason, source: id }))),
      hiddenReasons: isKnown ? unlistedReasons(id, source[kind], target) : [],
    };
  });
  return {
    all: [...bySource.flatMap(({ unread, hiddenReasons }) => [...unread, ...hiddenReasons]), ...disabled],
    hiddenReasons: [...bySource.flatMap(({ hiddenReasons }) => hiddenReasons), ...disabled],
    unreadSources: bySource.flatMap(({ unread }) => unread),
    causes: bySource.flatMap(({ causes }) => causes),
  };
}

/** A disabled upstream is not a source, so no other reason explains its missing definitions. */
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
    state.kind === "lastGood" ? ` since ${new Date(state.since).toISOString()}, with the definitions of that time` : "";
  return [`source ${id}: ${STATE_WORDS[state.kind]}: ${withDetail(state.why, detail)}${since}`];
}

/** The name is misspelt, or its upstream no longer has the definition. */
function unlistedReasons(id: string, items: readonly { readonly name: string }[], target: string): string[] {
  const names = items.map((one) => one.name);
  // The common prefix says nothing about how close two names are.
  const own = (name: string) => name.slice(id.length + 2);
  const suggestion = suggestName(own(target), names.map(own));
  const hint = suggestion === undefined ? "" : `: did you mean ${id}__${suggestion}?`;
  return names.includes(target) ? [] : [`source ${id}: lists nothing under this name${hint}`];
}
