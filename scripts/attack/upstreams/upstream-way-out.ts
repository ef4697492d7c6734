// An upstream, or the token endpoint of one, that is inside: as somebody writes it, in every notation, behind a name, behind
// a redirect, and where an upstream says itself that we should go on.

import type { ServerResponse } from "node:http";
import { startPeer, type Peer } from "../peer.ts";
import { rowOf, type Attack, type Row } from "../report.ts";
import type { Json, Target } from "../target.ts";
import { INSIDE, notationsOf } from "../way-out.ts";
import { pathOf, SECRET, tenantWith } from "./attacked-tenant.ts";
import { GO_ON, HostileUpstreams } from "./hostile-upstream.ts";

export const upstreamWayOut: Attack = {
  name: "upstream way out",
  classes: ["a door to the inside", "trust in our own server"],
  run: async (target) => {
    const hostile = await HostileUpstreams.start();
    // Of its own: what reaches the one that all share may be another attack's.
    const peer = await startPeer();
    try {
      return [
        await written(target, peer),
        ...(target.lab ? [await named(target.lab, { hostile, peer })] : []),
        await sentOn(target, { hostile, peer }),
      ];
    } finally {
      await hostile.stop();
      await peer.stop();
    }
  },
};

interface Beside {
  readonly hostile: HostileUpstreams;
  readonly peer: Peer;
}

const AUTH = { kind: "client_credentials", clientId: "a", clientSecret: "{{secret:ATTACKED}}" };
/** Where a document may name a place: the upstream itself, and where its token comes from. */
const MEMBERS: Readonly<Record<string, (url: string) => Json>> = {
  url: (url) => ({ url }),
  "auth.tokenUrl": (tokenUrl) => ({ url: "https://example.com/mcp", auth: { ...AUTH, tokenUrl } }),
};

async function written(target: Target, peer: Peer): Promise<Row> {
  const gaveWay: string[] = [];
  const tenant = await target.tenant();
  await target.must("PUT", `/tenants/${tenant}/secrets/ATTACKED`, { value: SECRET });
  peer.take();
  const inside = [...INSIDE, ...peer.addresses];
  const urls = inside
    .flatMap((address) => notationsOf(address))
    .flatMap((host) => ["https", "http"].map((scheme) => `${scheme}://${host}:${peer.port}/mcp`))
    .concat(
      ["[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[::]"].map((host) => `https://${host}/mcp`),
      ["metadata", "a.localhost", "printer.local", "metadata.google.internal"].map((host) => `https://${host}/mcp`),
      ["file:///etc/passwd", "ftp://127.0.0.1/", "data:text/plain,x", "https://a:b@example.com/mcp", "//127.0.0.2/"],
    );
  for (const [member, upstream] of Object.entries(MEMBERS)) {
    for (const url of urls) {
      const { status, text } = await target.admin("PUT", `${pathOf(tenant, "up")}?dryRun=1`, upstream(url));
      // For the place, and for nothing else that may be wrong.
      if (status < 400 || status >= 500 || !text.includes(`"field":"upstreams.up.${member}"`))
        gaveWay.push(`${member} ${url}: ${status} ${text.slice(0, 60)}`);
    }
    const outside = await target.admin("PUT", `${pathOf(tenant, "up")}?dryRun=1`, upstream("https://example.com/a"));
    if (outside.status !== 200) gaveWay.push(`${member} outside: ${outside.status}: nothing was shown`);
    // By the document itself, which is another route to the same place.
    const document = { mode: "open", upstreams: { up: upstream(`https://169.254.169.254:${peer.port}/`) } };
    const { status } = await target.admin("PUT", `/tenants/${tenant}/document`, document);
    if (status < 400) gaveWay.push(`${member} in a document: ${status}`);
  }
  const hits = peer.take().length;
  if (hits > 0) gaveWay.push(`${hits} requests reached a private address of this machine`);
  return rowOf(
    "an upstream inside, as written",
    `${urls.length} URLs in every notation, for the upstream and for its token endpoint`,
    gaveWay,
    "refused each, nothing was reached",
  );
}

const FAULTS: Readonly<Record<string, RegExp>> = {
  url: /refused \((?:address|name)\)/,
  "auth.tokenUrl": /^the gateway got no access token: the token endpoint cannot be reached$/,
};

/** The resolver of the lab says that these are inside. */
const NAMES = ["metadata", "intranet", "shared", "anything"].map((name) => `${name}.attack.example.com`);

async function named(lab: Target, { hostile, peer }: Beside): Promise<Row> {
  const gaveWay: string[] = [];
  peer.take();
  const works = hostile.at();
  for (const host of NAMES) {
    const url = `https://${host}:${peer.port}/mcp`;
    const ups = { url: { url }, "auth.tokenUrl": { url: works, auth: { ...AUTH, tokenUrl: url } } };
    for (const [member, up] of Object.entries(ups)) {
      const tenant = await tenantWith(lab, hostile, up);
      const { fault } = await lab.must("POST", `${pathOf(tenant, "up")}/test`);
      if (!FAULTS[member]?.test(String(fault))) gaveWay.push(`${member} ${host}: ${String(fault)}`);
    }
  }
  if (hostile.heard(works, "server/discover") > 0) gaveWay.push("an upstream was asked without its token");
  const hits = peer.take().length;
  if (hits > 0) gaveWay.push(`${hits} requests reached this machine by a name`);
  return rowOf(
    "an upstream inside, by name",
    `${NAMES.length} names that resolve to private addresses, for the upstream and its token endpoint`,
    gaveWay,
    "never asked, and the reason is said",
  );
}

const STATUSES = [301, 302, 303, 307, 308];

/** What answers each of these steers us to `place`, and nothing of ours goes there. */
function steering(place: string, status: number): Readonly<Record<string, Parameters<HostileUpstreams["at"]>[0]>> {
  const moved = ({ response }: { readonly response: ServerResponse }) =>
    void response.writeHead(status, { location: place }).end();
  return {
    "every request": { "*": moved },
    "a call": { "tools/call": moved },
    "a list": { "tools/list": moved },
    "the endpoint of HTTP+SSE": {
      "*": ({ verb, response }) => {
        if (verb === "POST") return 405;
        response.writeHead(200, { "content-type": "text/event-stream" }).write(`event: endpoint\ndata: ${place}\n\n`);
        return undefined;
      },
    },
    "who gives tokens": {
      "*": ({ response }) =>
        void response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${place}"` }).end(),
    },
    "the end of a session": {
      "*": (asked) => {
        if (asked.verb === "DELETE") return moved(asked);
        if (asked.method === "initialize") asked.response.setHeader("mcp-session-id", "one");
        return GO_ON;
      },
      "server/discover": () => 400,
    },
  };
}

async function sentOn(target: Target, { hostile, peer }: Beside): Promise<Row> {
  const gaveWay: string[] = [];
  peer.take();
  // What is beside us is allowed under npm start; that a redirect is not followed at all shows there.
  const places = [
    `http://localhost:${peer.port}/inside`,
    "http://169.254.169.254/latest/meta-data/",
    ...peer.addresses.map((address) => `http://${address}:${peer.port}/inside`),
  ];
  const ways = places.flatMap((place, at) =>
    (at === 0 ? STATUSES : [307]).flatMap((status) => Object.entries(steering(place, status))),
  );
  await Promise.all(
    ways.map(async ([what, behaviour]) => {
      const tenant = await tenantWith(target, hostile, { url: hostile.at(behaviour), timeoutMs: 1000 });
      await target.must("POST", `${pathOf(tenant, "up")}/test`);
      const { text, ms } = await target.tool(tenant, "up__go", {});
      if (text.includes("the inside")) gaveWay.push(`${what}: the inside was read`);
      if (ms > 5000) gaveWay.push(`${what}: a call took ${Math.round(ms)} ms`);
    }),
  );
  const tokens = STATUSES.map((status) => `/to?status=${status}&at=${encodeURIComponent(places[0] ?? "")}`);
  await Promise.all(
    tokens.map(async (path) => {
      const auth = { ...AUTH, tokenUrl: `${peer.origin}${path}` };
      const tenant = await tenantWith(target, hostile, { url: hostile.at(), auth });
      const { works } = await target.must("POST", `${pathOf(tenant, "up")}/test`);
      if (works === true) gaveWay.push(`a token endpoint at ${path} gave a token`);
    }),
  );
  const hits = peer.take().filter(({ url }) => url.startsWith("/inside"));
  if (hits.length > 0) gaveWay.push(`${hits.length} requests went where an upstream sent them`);
  return rowOf(
    "an upstream that sends us inside",
    `${ways.length} ways to steer us on, ${tokens.length} redirects of a token endpoint`,
    gaveWay,
    "nothing is followed",
  );
}
