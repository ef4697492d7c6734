// Routes for blocking a tool in every tenant. The platform object records the block and delivers it to every tenant
// after the answer. Repeating the request delivers it to every tenant again.

import { splitName } from "../../gateway/listed-name.ts";
import { searchTools } from "../../catalog/search-tools.ts";
import { rolloutsOf } from "../services/platform-blocks.ts";
import { warningsMember } from "../services/check-name-references.ts";
import { invalidFields } from "../problem.ts";
import { nearestName } from "../../protocol/did-you-mean.ts";
import { paginateArray } from "../page.ts";
import { defineRoutes, type AdminContext } from "../route.ts";
import { BLOCK_ENDPOINTS } from "../endpoints/rollout-endpoints.ts";
import type { FieldRule } from "../../tenants/document/tenant-document.ts";

export const blockRoutes = defineRoutes(BLOCK_ENDPOINTS, {
  "GET /tools/blocked": async ({ env, query }) => ({
    body: paginateArray("blocks", await rolloutsOf(env).blocks(), query),
  }),
  "POST /tools/{name}/block": async (context) => {
    const { params, body, env, caller } = context;
    const name = blockableName(context, params.name);
    if (name === undefined) throw invalidFields(["name", unknownToolRule(context, params.name)]);
    const { changed, version } = await rolloutsOf(env).block(name, body.note, caller);
    const result = { name, changed, rollout: version };
    return {
      status: 202,
      body: { ...result, ...warningsMember(isCodeTool(context, name) ? [] : [upstreamToolWarning(name)]) },
    };
  },
  "DELETE /tools/{name}/block": async (context) => {
    const name = blockableName(context, context.params.name) ?? context.params.name;
    const { changed, version } = await rolloutsOf(context.env).unblock(name, context.caller);
    return { status: 202, body: { name, changed, rollout: version } };
  },
});

/** undefined: no such tool. A tool of an upstream may be blocked before any tenant lists it. */
function blockableName({ options }: AdminContext, name: string): string | undefined {
  if (codeToolNames(options).includes(name)) return name;
  const upstreamName = options.features?.some(({ upstreams }) => upstreams) ? splitName(name) : undefined;
  return upstreamName && upstreamName.rest !== "" ? name : undefined;
}

function codeToolNames({ catalog }: AdminContext["options"]): string[] {
  return [...catalog.tools, ...searchTools].map(({ name }) => name);
}

const isCodeTool = ({ options }: AdminContext, name: string) => codeToolNames(options).includes(name);

function unknownToolRule({ options }: AdminContext, name: string): string {
  const suggestion = nearestName(name, codeToolNames(options));
  return `there is no tool ${name} in the code${suggestion === undefined ? "" : `: did you mean ${suggestion}?`}`;
}

/** The route does not search all tenants for the tool. */
function upstreamToolWarning(name: string): FieldRule {
  const { id } = splitName(name) ?? { id: "" };
  return {
    field: "name",
    rule: `${name} is not in the code: the block applies to each tenant whose upstream ${id} lists it, now or later`,
  };
}
