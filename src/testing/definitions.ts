// Owns what `tenantry` is outside of Workers, where a test imports a module of tools: definitions are whole, and a Worker is one
// that cannot be asked. Refuses to stand in for workerd.
// oxlint-disable oxc/no-barrel-file

export { defineTool } from "../content/define/tool.ts";
export { definePrompt } from "../content/define/prompt.ts";
export { defineResource, defineTemplate } from "../content/define/resource.ts";
export { leasedSections } from "../deployment/leased-sections.ts";
export { links } from "../gateway/budget/links.ts";
export { TenantError } from "../http/tenant-error.ts";
export { IdentityError } from "../login/identity/identity-error.ts";
export { OutboundError } from "../outbound/outbound-error.ts";
export { UserError } from "../protocol/user-error.ts";
export { featureOutside as admin, featureOutside as gateway, featureOutside as login, workerOutside as createWorker };

const WHY =
  "a Worker runs in workerd, and this is not: start it with wrangler dev, or run its tools, prompts and resources with tenantry/testing";

function featureOutside(): { readonly name: string } {
  return { name: "outside" };
}

/** One file may define tools and make a Worker of them: it is imported all the same. */
function workerOutside(): {
  readonly fetch: () => Promise<never>;
  readonly tenant: () => never;
  readonly exports: object;
} {
  const tenant = () => {
    throw new TypeError(WHY);
  };
  return { fetch: () => Promise.reject(new TypeError(WHY)), tenant, exports: {} };
}
