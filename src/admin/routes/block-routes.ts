// Owns blocking a tool in every tenant at once: each tenant's object is told, and the answer comes when the last lease
// that could contradict it has ended. Repeating it finishes what was cut off.

import { allShards } from "../../tenants/directory/directory.ts";
import type { DirectoryEntry } from "../../tenants/directory/lookups-object.ts";
import type { BlockWrite } from "../../tenants/authority/block-tables.ts";
import type { PolicyMethods } from "../../tenants/authority/policy-tables.ts";
import { remote, type Remote } from "../../tenants/authority/tables.ts";
import { listedName, LONGEST_LISTED, splitName } from "../../gateway/listed-name.ts";
import { searchTools } from "../../content/serve/search-tools.ts";
import { baseTables } from "../platform/base-tables.ts";
import { Block, BlockDone, NewBlock, pageShapeOf, ToolName } from "../contract.ts";
import { settled } from "../apply/blocks-everywhere.ts";
import { endStale, isoTime, untilInForce, type Stale } from "../apply/in-force.ts";
import { inLanes } from "../apply/lanes.ts";
import { pageOfAll } from "../page.ts";
import { platformOf } from "../platform/platform-object.ts";
import { invalidFields, ProblemError } from "../problem.ts";
import { PageQuery, ROLES, route, type Desk, type Route } from "../route.ts";
import { object } from "../shapes.ts";
import { anyOf, type Managed } from "../apply/tenant-access.ts";

const ToolParams = object({ name: ToolName });
const DONE = { status: 200, schema: BlockDone, about: "In force in every tenant" };
const DIRECTORY_PAGE = 500;

export const blockRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/tools/blocked",
    summary: "List the tools that are blocked in every tenant",
    roles: ROLES.platformRead,
    query: object({}, PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(Block), about: "Blocked tools, by name" }],
    handle: async ({ env, query }) => ({
      body: pageOfAll("blocks", await remote(platformOf(env), baseTables).blocks(), query),
    }),
  }),
  route({
    method: "post",
    path: "/tools/{name}/block",
    summary: "Block a tool, or `ID__tool` of an upstream, in every tenant; callers are told the note",
    roles: ROLES.platform,
    params: ToolParams,
    body: NewBlock,
    replies: [DONE],
    handle: async (call) => {
      const { params, body, env, caller } = call;
      const name = nameToBlock(call, params.name);
      if (name === undefined) throw invalidFields(["name", `there is no tool ${params.name} in the code`]);
      const changed = await remote(platformOf(env), baseTables).block(name, body.note, caller);
      const told = await tellAll(call, name);
      return { body: { name, changed, ...told } };
    },
  }),
  route({
    method: "delete",
    path: "/tools/{name}/block",
    summary: "Let a tool be called again where its tenant allows it",
    roles: ROLES.platform,
    params: ToolParams,
    replies: [DONE],
    handle: async (call) => {
      const name = nameToBlock(call, call.params.name) ?? call.params.name;
      const changed = await remote(platformOf(call.env), baseTables).unblock(name, call.caller);
      const told = await tellAll(call, name);
      return { body: { name, changed, ...told } };
    },
  }),
];

/**
 * The name under which tenants list it; undefined: it is nobody's. What upstreams have may be blocked before any tenant lists
 * it, under the whole name that the upstream gives it, too.
 */
function nameToBlock({ options }: Desk, name: string): string | undefined {
  if ([...options.catalog.tools, ...searchTools].some((tool) => tool.name === name)) return name;
  const own = options.features?.some(({ upstreams }) => upstreams) ? splitName(name) : undefined;
  if (!own || own.rest === "") return undefined;
  return name.length > LONGEST_LISTED ? listedName(own.id, own.rest) : name;
}

/** Tells every tenant what is decided of the tool. */
function tellAll(desk: Desk, tool: string) {
  const { env, caller } = desk;
  return settled(env, tool, ([block]) =>
    tellEach(desk, (policy) => (block ? policy.blockTool(tool, block.note, caller) : policy.unblockTool(tool, caller))),
  );
}

/** Tells every tenant and waits until that is in force. Throws `busy` when one could not be told. */
async function tellEach(desk: Desk, tell: (policy: Remote<PolicyMethods>) => Promise<BlockWrite>) {
  let tenants = 0;
  let effectiveAt = 0;
  const stale: Stale[] = [];
  const failed: string[] = [];
  for await (const page of allTenants(desk)) {
    tenants += page.length;
    await inLanes(page, async ({ id, entry }) => {
      try {
        // A block is for whoever has the name. Asking makes the policy of a tenant in code, which has none until then.
        const policy = anyOf(desk, id, entry);
        if (entry === null) await policy.incarnation(true);
        const told = await tell(policy);
        effectiveAt = Math.max(effectiveAt, told.effectiveAt);
        stale.push([{ id, entry }, told.staleUntil]);
      } catch (error) {
        desk.options.onError?.(error);
        failed.push(id);
      }
    });
  }
  if (failed.length > 0) {
    const some = failed.slice(0, 20).join(", ");
    throw new ProblemError("busy", {
      detail: `Not every tenant could be told; ask again. Missing: ${some}`,
      headers: { "retry-after": "1" },
    });
  }
  await untilInForce(effectiveAt);
  const ended = await endStale(desk, effectiveAt, stale);
  return { tenants, effectiveAt: isoTime(effectiveAt === 0 ? null : effectiveAt), ...ended };
}

async function* allTenants({ options, env }: Desk): AsyncGenerator<readonly Pick<Managed, "id" | "entry">[]> {
  yield [...options.tenants.keys()].map((id) => ({ id, entry: null }));
  for (const shard of allShards(env)) {
    // Which the author's function declares is known of those that were asked for.
    let after: string | null = null;
    do {
      const ids: readonly string[] = options.asked ? await shard.listDeclared(after, DIRECTORY_PAGE) : [];
      yield ids.map((id) => ({ id, entry: null }));
      after = ids.length < DIRECTORY_PAGE ? null : (ids.at(-1) ?? null);
    } while (after !== null);
    do {
      const entries: readonly DirectoryEntry[] = await shard.list(after, DIRECTORY_PAGE);
      yield entries
        .filter(({ id, state }) => state === "active" && !options.tenants.has(id))
        .map((entry) => ({ id: entry.id, entry }));
      after = entries.length < DIRECTORY_PAGE ? null : (entries.at(-1)?.id ?? null);
    } while (after !== null);
  }
}
