// Owns the page of somebody who cannot go on: why, and what to do next.

import { markup } from "../../deployment/markup.ts";
import { harmless } from "./harmless.ts";
import { page, type PageTenant } from "./page.ts";

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
