// A Worker with upstreams, and with as many tools in code as all of them have. Nothing here may be tuned for the benchmark.
import { admin, createWorker, defineTool, gateway } from "../../src/tenantry.ts";
import { CODE, definitionsOf, UPSTREAMS } from "../upstream-tools.ts";
import { WIDE_LIMITS } from "../../test/fixtures/wide-limits.ts";

const tools = UPSTREAMS.flatMap((id) =>
  definitionsOf().map(({ name, description, inputSchema }) =>
    defineTool({ name: `${CODE}${id}__${name}`, description, input: inputSchema, handler: () => "never called" }),
  ),
);

const worker = createWorker({
  limits: WIDE_LIMITS,
  name: "bench",
  version: "1.0.0",
  tools,
  tenants: {},
  features: [admin(), gateway()],
});

export * from "../../src/objects.ts";

export default worker;
