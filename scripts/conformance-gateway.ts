// A gateway in front of the fixture Worker, two processes as a user has them: a tenant whose only upstream is the
// tenant `conformance`, and a profile that gives everything its own name back, which is what the suite asks for.
import { ADMIN_TOKEN, startFixtureServer, type FixtureServer } from "./fixture-server.ts";

const UPSTREAM = "conf";
const READ_WITHIN_MS = 30_000;

interface ConformanceGateway {
  /** Makes a tenant that speaks to its upstream in this era; gives the URL under which nothing has a prefix. */
  tenant(era: "2025" | "2026"): Promise<string>;
  stop(): Promise<void>;
}

type Listed = Readonly<Record<"tools" | "prompts", readonly string[]>>;

export async function startConformanceGateway(): Promise<ConformanceGateway> {
  const vars = { OUTBOUND_LOCAL: "http://127.0.0.1" };
  const starting = await Promise.allSettled([
    startFixtureServer(),
    startFixtureServer({ entry: "gateway-worker.ts", vars }),
  ]);
  const servers = starting.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  const [there, here] = servers;
  if (there && here) return { tenant: (era) => gatewayTenant(here, there, era), stop };
  await stop();
  throw new Error("the gateway and its upstream do not start", {
    cause: starting.find((one) => one.status === "rejected"),
  });
}

async function gatewayTenant(here: FixtureServer, there: FixtureServer, era: "2025" | "2026"): Promise<string> {
  const id = `conformance-${era}`;
  const upstream = `${there.url}/mcp/conformance`.replace("localhost", "127.0.0.1");
  const upstreams = { [UPSTREAM]: { url: upstream, era } };
  await admin(here.url, "POST", "/tenants", { id, document: { mode: "open", maxStalenessMs: 50, upstreams } });
  const listed = await untilRead(`${here.url}/mcp/${id}`);
  const profiles = { bare: { tools: renamings(listed.tools), prompts: renamings(listed.prompts) } };
  await admin(here.url, "PUT", `/tenants/${id}/document?wait=1`, { mode: "open", upstreams, profiles });
  return `${here.url}/mcp/${id}/bare`;
}

function renamings(names: readonly string[]): object {
  const rename = names.map((name) => [name, { name: name.slice(`${UPSTREAM}__`.length) }]);
  return { rename: Object.fromEntries(rename) };
}

/** A first list has nothing of the upstream: it is read beside it. */
async function untilRead(url: string): Promise<Listed> {
  for (const deadline = Date.now() + READ_WITHIN_MS; Date.now() < deadline;) {
    const [tools, prompts] = [await namesOf(url, "tools"), await namesOf(url, "prompts")];
    if (tools.length > 0 && prompts.length > 0) return { tools, prompts };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the upstream was not read within ${READ_WITHIN_MS} ms`);
}

async function namesOf(url: string, kind: keyof Listed): Promise<string[]> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: `${kind}/list`, params: {} }),
  });
  const { result } = (await answer.json()) as { result?: Record<string, { name: string }[]> };
  return (result?.[kind] ?? []).map(({ name }) => name);
}

async function admin(origin: string, method: string, path: string, json: object): Promise<void> {
  const answer = await fetch(`${origin}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(json),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
}
