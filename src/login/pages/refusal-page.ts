// Owns the page of somebody who cannot go on: why, and what to do next.

import { markup } from "../../deployment/markup.ts";
import { harmless } from "./harmless.ts";
import { page, pageResponse, type PageTenant } from "./page.ts";

export interface RefusalView {
  readonly tenant: PageTenant;
  /** What did not happen: `Not signed in`. */
  readonly title: string;
  readonly why: string;
  readonly next: string;
}

export function refusalPage({ tenant, title, why, next }: RefusalView): string {
  return page({
    tenant,
    title,
    body: markup`<div class="note bad" role="alert"><p>${harmless(why, 400)}</p></div><p>${harmless(next, 400)}</p>`,
  });
}

/** `refused`: as a program reads it, where there is no tenant, or none that may be known of. `why`: said where there is one. */
export function refusedPage(host: string, { status, headers }: Response, why: string | undefined): Response {
  const isNobody = why === undefined || status === 401 || status === 404;
  const view = {
    tenant: { id: host },
    title: "Not signed in",
    why: isNobody ? "Nobody signs in at this address" : why,
    next: "Compare it with the one that you were given, or ask whoever gave it to you.",
  };
  return pageResponse(refusalPage(view), { status, headers });
}
