// What `wrangler types` would write of wrangler.toml.

import type { Env as TenantryEnv } from "tenantry";

declare global {
  namespace Cloudflare {
    interface Env extends TenantryEnv {
      readonly LIBRARY_API: string;
    }
  }
  interface Env extends Cloudflare.Env {}
}
