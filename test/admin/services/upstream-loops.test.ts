import { expect, it } from "vitest";
import { ask, newTenant, ORIGIN, rules } from "../../support/workerd/admin.ts";

const refused = (name: string) => [422, [`upstreams.${name}.url`, "leads back to this tenant"]];

it("a tenant's own path, a profile's or its hostname is refused as its upstream", async () => {
  const id = await newTenant();
  for (const path of [`/mcp/${id}`, `/mcp/${id}/`, `/mcp/${id}/all`, `/gateway/${id}`]) {
    const url = `${ORIGIN.toUpperCase()}${path}`;
    expect(rules(await ask("PUT", `/tenants/${id}/upstreams/me`, { json: { url } })), path).toEqual(refused("me"));
  }
  const hostname = `${id}.example.net`;
  const json = { mode: "open", hostnames: [hostname], upstreams: { me: { url: `https://${hostname}/mcp` } } };
  expect(rules(await ask("PUT", `/tenants/${id}/document`, { json }))).toEqual(refused("me"));
  const named = { env: { TENANT_HOST: "tenants.example.net" }, json: { url: `https://${id}.tenants.example.net/` } };
  expect(rules(await ask("PUT", `/tenants/${id}/upstreams/me`, named))).toEqual(refused("me"));
});

it("an upstream in a base is refused for the one tenant that it leads back to", async () => {
  const [shared, other] = [await newTenant(), await newTenant()];
  await ask("PUT", `/bases/has-${shared}`, { json: { upstreams: { shared: { url: `${ORIGIN}/mcp/${shared}` } } } });
  const json = { mode: "open", extends: [`has-${shared}`] };
  expect((await ask("PUT", `/tenants/${other}/document`, { json })).status).toBe(200);
  expect(rules(await ask("PUT", `/tenants/${shared}/document`, { json }))).toEqual(refused("shared"));
});

it("an upstream at another tenant, path or host is accepted, and so is a disabled one", async () => {
  const id = await newTenant();
  for (const url of [`${ORIGIN}/mcp/${id}x`, `${ORIGIN}/other/${id}`, `https://elsewhere.example.net/mcp/${id}`]) {
    expect((await ask("PUT", `/tenants/${id}/upstreams/me`, { json: { url } })).status, url).toBe(200);
  }
  const json = { url: `${ORIGIN}/mcp/${id}`, enabled: false };
  expect((await ask("PUT", `/tenants/${id}/upstreams/me`, { json })).status).toBe(200);
});
