import { describe, expect, test } from "vitest";
import {
  parseOAuthErrorCode,
  parseTokenBody,
  parseTokenResponse,
  createTokenRequest,
} from "../../src/outbound/token-endpoint.ts";

const BEARER = { access_token: "abc", token_type: "Bearer" };

describe("what a token endpoint is sent", () => {
  const client = { id: "a:b", secret: "c d%", isBasic: true };

  test("names the client in a header or in the form, never in both", () => {
    const shown = createTokenRequest(client, { grant_type: "x" });
    expect(shown.headers["authorization"]).toBe(`Basic ${btoa("a%3Ab:c%20d%25")}`);
    expect(shown.body).toBe("grant_type=x");
    const posted = createTokenRequest({ ...client, isBasic: false }, { grant_type: "x" });
    expect(posted.headers).not.toHaveProperty("authorization");
    expect(posted.body).toBe("grant_type=x&client_id=a%3Ab&client_secret=c+d%25");
  });

  test("names a client without a secret in the form", () => {
    const { headers, body } = createTokenRequest({ ...client, secret: undefined }, {});
    expect(headers).not.toHaveProperty("authorization");
    expect(body).toBe("client_id=a%3Ab");
  });
});

describe("what a token endpoint gives", () => {
  test.each([
    ["a bearer", { ...BEARER, expires_in: 60, scope: "a" }, { access: "abc", seconds: 60, scope: "a" }],
    ["one whose life is a text", { ...BEARER, expires_in: "60" }, { access: "abc", seconds: 60 }],
    ["one whose life nobody can read", { ...BEARER, expires_in: "soon" }, { access: "abc", seconds: Number.NaN }],
    ["one whose life is no text", { ...BEARER, expires_in: { valueOf: 1 } }, { access: "abc", seconds: Number.NaN }],
    ["one that never ends", { ...BEARER, expires_in: 1e308 }, { access: "abc", seconds: 3_200_000_000 }],
    ["one of no said type", { access_token: "abc" }, { access: "abc" }],
    ["one with a token to ask again", { ...BEARER, refresh_token: "r" }, { access: "abc", refresh: "r" }],
  ])("is %s", (_what, body, given) => {
    expect(parseTokenResponse(body)).toEqual({ ...given, idToken: undefined });
  });

  test.each([
    ["none", {}],
    ["one of another type", { ...BEARER, token_type: "DPoP" }],
    ["one whose type is no text", { ...BEARER, token_type: { toString: 1, valueOf: 1 } }],
    ["one that no header takes", { ...BEARER, access_token: "a\r\nb" }],
    ["one that is no text", { ...BEARER, access_token: 1 }],
    ["an error beside it", { ...BEARER, error: "slow_down" }],
  ])("is nothing where it is %s", (_what, body) => {
    expect(parseTokenResponse(body)).toBeUndefined();
  });

  test("is read as JSON, or as the form that it says it is", () => {
    expect(parseTokenBody('{"error":"x"}', null)).toEqual({ error: "x" });
    expect(parseTokenBody("error=x", "application/x-www-form-urlencoded; charset=utf-8")).toEqual({ error: "x" });
    expect(parseTokenBody("error=x", "text/html")).toBeUndefined();
    expect(parseTokenBody("[]", "application/json")).toBeUndefined();
  });

  test("has a code where it looks like one, and no words of the server", () => {
    expect(parseOAuthErrorCode("invalid_client")).toBe("invalid_client");
    expect(parseOAuthErrorCode("Not you, s3cret")).toBeUndefined();
  });
});
