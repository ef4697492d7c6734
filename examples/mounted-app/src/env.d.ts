// What `wrangler types` would write of wrangler.toml.

import type { Env as TenantryEnv } from "tenantry";

declare global {
  namespace Cloudflare {
    interface Env extends TenantryEnv {}
  }
  interface Env extends Cloudflare.Env {}
}
