// Owns the Worker: the tools over the REST API, and the libraries whose API they ask.

import { createWorker, links } from "tenantry";
import { settings } from "./library-api.ts";
import { cover, exportBooks, listBooks } from "./library-tools.ts";

export * from "tenantry/objects";

export default createWorker({
  name: "library",
  tools: [listBooks, exportBooks, cover],
  settings,
  tenants: (id, env: Env) =>
    id === "city" ? { title: "City library", settings: { api: env.LIBRARY_API } } : undefined,
  features: [links()],
});
