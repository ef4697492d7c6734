// Documents that the login pages show are valid, in a mode in which they matter.

import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import identity from "../../../docs/login-identity.md?raw";
import people from "../../../docs/login-people.md?raw";
import product from "../../../docs/login-product.md?raw";
import first from "../../../docs/login.md?raw";
import { findBrokenAuth } from "../../../src/login/login-rules.ts";
import {
  acceptsTokens,
  type LoginDocument,
  type TenantDocument,
} from "../../../src/tenants/document/tenant-document.ts";

const PAGES = { identity, people, product, first };
/** A page that has shown a whole one goes on with what stands at `auth.login` in it. */
const around = (login: LoginDocument): TenantDocument => ({
  mode: "oauth",
  auth: { login },
  scopes: { everything: { tools: ["*"] }, reading: { tools: ["note_read"] } },
});

const shown = Object.entries(PAGES).flatMap(([page, text]) =>
  [...text.matchAll(/^```(?:json|yaml)\n(.*?)^```$|^cat > \S+ <<'END'\n(.*?)^END$/gms)]
    .map(([, block, typed]) => parse(block ?? typed ?? "") as TenantDocument | LoginDocument)
    .map((one) => ("via" in one ? around(one) : one))
    .filter(({ auth }) => auth !== undefined)
    .map((document) => ({ page, document })),
);

describe("a document that a page of login shows", () => {
  test("is on each of them", () => {
    expect(new Set(shown.map(({ page }) => page))).toEqual(new Set(Object.keys(PAGES)));
    expect(shown.length).toBeGreaterThan(10);
  });

  test.each(shown)("in $page is valid, in a mode that accepts tokens", ({ document }) => {
    expect(findBrokenAuth(document, "")).toEqual([]);
    expect(acceptsTokens(document.mode)).toBe(true);
  });
});
