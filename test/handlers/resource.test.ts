import { callOf, requestScopeOf } from "../support/workerd/calls.ts";
import { freshTenant } from "../support/workerd/tenant.ts";
import { describe, expect, it } from "vitest";
import { defineResource, defineTemplate } from "../../src/handlers/resource.ts";

describe("defineResource", () => {
  it.each([
    ["no-scheme", "a URI must start with a scheme"],
    ["note:a b", "a URI must not contain spaces"],
    ["note:%zz", "two-digit escape"],
    ["note:/../x", "must not have . or .. segments"],
    ["note:", "more than a scheme"],
  ])("refuses the URI %j by its rule", (uri, rule) => {
    expect(() => defineResource({ uri, name: "n", text: "" })).toThrow(`resource "${uri}": `);
    expect(() => defineResource({ uri, name: "n", text: "" })).toThrow(rule);
  });

  it("refuses one that has nothing to read", () => {
    expect(() => defineResource({ uri: "note:a", name: "n" } as never)).toThrow(
      'resource "note:a": needs text, blob or read',
    );
  });

  it("is known by the normal form of its URI", () => {
    const { uri, wire } = defineResource({ uri: "HTTPS://Example.COM/%7Ea", name: "n", text: "" });
    expect([uri, wire.uri]).toEqual(["https://example.com/~a", "https://example.com/~a"]);
  });

  it("has the size of fixed contents alone", () => {
    expect(defineResource({ uri: "note:a", name: "n", text: "ä" }).wire.size).toBe(2);
    expect(defineResource({ uri: "note:a", name: "n", text: "" }).wire.size).toBe(0);
    expect(defineResource({ uri: "note:a", name: "n", blob: new Uint8Array(3) }).wire.size).toBe(3);
    expect(defineResource({ uri: "note:a", name: "n", read: () => "x" }).wire).not.toHaveProperty("size");
    const unused = { text: "not what is read", blob: new Uint8Array(3) };
    expect(defineResource({ uri: "note:a", name: "n", read: () => "x", ...unused }).wire).not.toHaveProperty("size");
  });

  it("prefers its own read over what is fixed", async () => {
    const resource = defineResource({ uri: "note:a", name: "n", text: "fixed", read: () => "read" });
    const ref = { uri: "note:a", asked: "NOTE:a" };
    const outcome = await resource.read(ref, callOf({ method: "resources/read" }), requestScopeOf(freshTenant()));
    expect(outcome).toMatchObject({ kind: "complete", result: { contents: [{ uri: "NOTE:a", text: "read" }] } });
  });
});

describe("defineTemplate", () => {
  it.each(["note:{a", "note:a}", "note:{a}{a}", "note:{!a}", "note:{}"])("refuses the template %j", (uriTemplate) => {
    expect(() => defineTemplate({ uriTemplate, name: "n" })).toThrow(`template "${uriTemplate}": `);
  });

  it("lists the author's members without completers and read", () => {
    const template = defineTemplate({
      uriTemplate: "note:{year}/{slug}",
      name: "n",
      mimeType: "text/plain",
      complete: { year: () => ["2026"] },
      read: () => undefined,
    });
    expect(template.wire).toEqual({ uriTemplate: "note:{year}/{slug}", name: "n", mimeType: "text/plain" });
  });
});
