import { markup } from "../../deployment/markup.ts";
import { sanitizeText } from "./sanitize-text.ts";
import { renderPage, pageResponse, type PageTenant } from "./page.ts";

export interface ErrorView {
  readonly tenant: PageTenant;
  /** The outcome, such as `Not signed in`. */
  readonly title: string;
  readonly why: string;
  readonly next: string;
}

export function errorPage({ tenant, title, why, next }: ErrorView): string {
  return renderPage({
    tenant,
    title,
    body: markup`<div class="note bad" role="alert"><p>${sanitizeText(why, 400)}</p></div><p>${sanitizeText(next, 400)}</p>`,
  });
}

/**
 * The page for a rejected request. The status and headers come from the program's response. `why` is shown only if the
 * tenant's existence is no secret.
 */
export function rejectionPageResponse(host: string, { status, headers }: Response, why: string | undefined): Response {
  const hidesTenant = why === undefined || status === 401 || status === 404;
  const view = {
    tenant: { id: host },
    title: "Not signed in",
    why: hidesTenant ? "This address has no sign-in" : why,
    next: "Compare the address with the one that you were given, or ask the person who gave it to you.",
  };
  return pageResponse(errorPage(view), { status, headers });
}
