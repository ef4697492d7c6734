// Routes for blocking a tool in every tenant. The platform's object records it and brings it to every tenant; the answer comes
// before that. Repeating it brings it to every tenant again.

import { splitName } from "../../gateway/listed-name.ts";
import { searchTools } from "../../content/serve/search-tools.ts";
import { rolloutsOf } from "../apply/stopped-everywhere.ts";
import { warned } from "../apply/named-things.ts";
import type { FieldRule } from "../field-rule.ts";
import { nearest } from "../../protocol/nearest.ts";
import { pageOfAll } from "../page.ts";
import { invalidFields } from "../problem.ts";
import { routes, type Desk } from "../route.ts";
import { BLOCK_ENDPOINTS } from "../endpoints/rollout-endpoints.ts";

export const blockRoutes = routes(BLOCK_ENDPOINTS, {
  "GET /tools/blocked": async ({ env, query }) => ({
    body: pageOfAll("blocks", await rolloutsOf(env).blocks(), query),
  }),
  "POST /tools/{name}/block": async (call) => {
    const { params, body, env, caller } = call;
    const name = nameToBlock(call, params.name);
    if (name === undefined) throw invalidFields(["name", unknownTool(call, params.name)]);
    const { changed, version } = await rolloutsOf(env).block(name, body.note, caller);
    const done = { name, changed, rollout: version };
    return { status: 202, body: { ...done, ...warned(isInCode(call, name) ? [] : [ofUpstreams(name)]) } };
  },
  "DELETE /tools/{name}/block": async (call) => {
    const name = nameToBlock(call, call.params.name) ?? call.params.name;
    const { changed, version } = await rolloutsOf(call.env).unblock(name, call.caller);
    return { status: 202, body: { name, changed, rollout: version } };
  },
});

/** undefined: it is nobody's. What upstreams have may be blocked before any tenant lists it. */
function nameToBlock({ options }: Desk, name: string): string | undefined {
  if (codeNames(options).includes(name)) return name;
  const own = options.features?.some(({ upstreams }) => upstreams) ? splitName(name) : undefined;
  return own && own.rest !== "" ? name : undefined;
}

function codeNames({ catalog }: Desk["options"]): string[] {
  return [...catalog.tools, ...searchTools].map(({ name }) => name);
}

const isInCode = ({ options }: Desk, name: string) => codeNames(options).includes(name);

function unknownTool({ options }: Desk, name: string): string {
  const near = nearest(name, codeNames(options));
  return `there is no tool ${name} in the code${near === undefined ? "" : `: did you mean ${near}?`}`;
}

/** Nobody asks all tenants whether one lists it. */
function ofUpstreams(name: string): FieldRule {
  const { id } = splitName(name) ?? { id: "" };
  return {
    field: "name",
    rule: `${name} is not in the code: it holds wherever an upstream ${id} lists it, now or later`,
  };
}
