// A tool that fetches what its caller names, steered to the inside: in every notation, behind names, behind redirects, in
// circles, and into answers without an end.

import { rowOf, type Attack, type Row } from "./report.ts";
import { textOf, type Json, type Target } from "./target.ts";

export const wayOut: Attack = {
  name: "way out",
  classes: ["a door to the inside", "small input, large work"],
  run: async (target) => {
    const { lab } = target;
    if (!lab) return [];
    return [
      await addresses(lab),
      await names(lab),
      await redirects(lab),
      await credentials(lab),
      await circles(lab),
      await endless(lab),
    ];
  },
};

interface Fetched {
  readonly status?: number;
  readonly rule?: string;
  readonly error?: string;
  readonly body?: string;
}

async function fetched(lab: Target, args: Json, headers: Readonly<Record<string, string>> = {}): Promise<Fetched> {
  const answer = await lab.tool("lab", "lab_fetch", args, { headers });
  try {
    return JSON.parse(textOf(answer)) as Fetched;
  } catch {
    throw new Error(`lab_fetch answered ${answer.text.slice(0, 200)}`);
  }
}

export const INSIDE: readonly string[] = [
  "169.254.169.254",
  "10.0.0.1",
  "172.16.0.1",
  "192.168.1.1",
  "100.64.0.1",
  "0.0.0.0",
  "127.0.0.2",
  "255.255.255.255",
  "168.63.129.16",
];

const v4 = (address: string) => address.split(".").map(Number);

/** One address in the ways in which a URL may write it. */
export function notationsOf(address: string): readonly string[] {
  const [a = 0, b = 0, c = 0, d = 0] = v4(address);
  const number = ((a * 256 + b) * 256 + c) * 256 + d;
  const [high, low] = [(a * 256 + b).toString(16), (c * 256 + d).toString(16)];
  return [
    address,
    `${address}.`,
    String(number),
    `0x${number.toString(16)}`,
    `0${number.toString(8)}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    `0x${a.toString(16)}.0${b.toString(8)}.${c}.${d}`,
    address.replaceAll(".", "\u3002"),
    address.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    address.replaceAll(".", "%2e"),
    `[::ffff:${address}]`,
    `[::${address}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b:1::${high}:${low}]`,
    `[2002:${high}:${low}::]`,
    `[2001:0:${high}:${low}::1]`,
  ];
}

async function addresses(lab: Target): Promise<Row> {
  const gaveWay: string[] = [];
  lab.peer.take();
  const inside = [...INSIDE, ...lab.peer.addresses];
  const urls = inside
    .flatMap((address) => notationsOf(address).map((host) => `https://${host}:${lab.peer.port}/`))
    .concat(
      ["[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[::]", "[fe80::1%25eth0]"].map(
        (host) => `https://${host}/`,
      ),
      // Without TLS: what runs beside the server itself is allowed under npm start, and nothing else.
      inside.flatMap((address) => notationsOf(address).map((host) => `http://${host}:${lab.peer.port}/`)),
      [
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "gopher://127.0.0.1:70/",
        "data:text/plain,x",
        "https://user:pass@example.com/",
        "https://example.com:25/",
      ],
    );
  for (const url of urls) {
    const { rule, status, error } = await fetched(lab, { url });
    if (rule === undefined) gaveWay.push(`${url}: ${status ?? error ?? "?"}`);
  }
  const hits = lab.peer.take().length;
  if (hits > 0) gaveWay.push(`${hits} requests reached a private address of this machine`);
  return rowOf(
    "the way out: private addresses",
    `${urls.length} URLs of ${inside.length} addresses in every notation`,
    gaveWay,
    "refused each, nothing was reached",
  );
}

async function names(lab: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const hosts = [
    "metadata",
    "metadata.google.internal",
    "a.localhost",
    "printer.local",
    "db.svc.cluster.local",
    "router.home.arpa",
    "wiki.corp",
    // Our resolver says that these are inside.
    "metadata.attack.example.com",
    "intranet.attack.example.com",
    "shared.attack.example.com",
    "anything.attack.example.com",
  ];
  for (const host of hosts) {
    for (const name of [host, `${host}.`, host.toUpperCase()]) {
      const { rule, status, error } = await fetched(lab, { url: `https://${name}:${lab.peer.port}/` });
      if (rule !== "name" && rule !== "address") gaveWay.push(`${name}: ${rule ?? status ?? error ?? "?"}`);
    }
  }
  return rowOf(
    "the way out: names of the inside",
    `${hosts.length * 3} names, some of which resolve to private addresses`,
    gaveWay,
    "refused each",
  );
}

async function redirects(lab: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const places = [
    "https://169.254.169.254/",
    "http://169.254.169.254/latest/meta-data/",
    "https://[::ffff:10.0.0.1]/",
    "https://metadata.attack.example.com/",
    "file:///etc/passwd",
    "https://user@example.com/",
    ...lab.peer.addresses.map((address) => `http://${address}:${lab.peer.port}/inside`),
  ];
  lab.peer.take();
  const to = (place: string, status: number) => `/to?status=${status}&at=${encodeURIComponent(place)}`;
  const chains = places.flatMap((place) =>
    [301, 302, 303, 307, 308].flatMap((status) => [to(place, status), to(to(place, status), status)]),
  );
  for (const chain of chains) {
    const { rule, body } = await fetched(lab, { url: lab.peer.origin + chain });
    if (rule === undefined || body !== undefined) gaveWay.push(`${decodeURIComponent(chain)} was followed`);
  }
  if (lab.peer.take().some(({ url }) => url === "/inside")) gaveWay.push("a private address was reached");
  const { rule } = await fetched(lab, { url: `${lab.peer.origin}/round` });
  if (rule !== "redirects") gaveWay.push(`a redirect to itself: ${String(rule)}`);
  return rowOf(
    "the way out: redirects",
    `${chains.length} redirects to the inside, and one without an end`,
    gaveWay,
    "looked at like the first URL",
  );
}

async function credentials(lab: Target): Promise<Row> {
  lab.peer.take();
  const mine = {
    cookie: "of=the-caller",
    "x-api-key": "the-caller",
    "proxy-authorization": "Basic the-caller",
    "x-forwarded-for": "the-caller",
  };
  await fetched(lab, { url: `${lab.peer.origin}/` }, mine);
  const [own] = lab.peer.take();
  // localhost and 127.0.0.1 are two origins.
  const elsewhere = `http://localhost:${lab.peer.port}/there`;
  const sent = { authorization: "Bearer of-the-tool", "x-api-key": "of-the-tool", cookie: "of-the-tool" };
  await fetched(lab, { url: `${lab.peer.origin}/to?at=${encodeURIComponent(elsewhere)}`, headers: sent });
  const there = lab.peer.take().find(({ url }) => url === "/there");
  const gaveWay = [
    ...(JSON.stringify(own ?? {}).includes("the-caller") ? ["the caller's headers went out"] : []),
    ...(JSON.stringify(there ?? {}).includes("of-the-tool") ? ["the tool's credentials went to another origin"] : []),
    ...(own && there ? [] : ["nothing was reached: nothing was tried"]),
  ];
  return rowOf(
    "the way out: credentials",
    "a caller's own headers; a tool's own, after a redirect to another origin",
    gaveWay,
    "neither arrives",
  );
}

async function circles(lab: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const seen: string[] = [];
  for (const [tool, session] of [
    ["lab_circle", false],
    ["lab_kept_circle", true],
  ] as const) {
    const url = `${lab.origin}/mcp/lab`;
    const { text, ms } = await lab.tool("lab", tool, { tool, url, session });
    seen.push(`${tool} ended after ${Math.round(ms)} ms`);
    if (!text.includes("loop of tools")) gaveWay.push(`${tool} ended with ${text.slice(0, 80)}`);
  }
  return rowOf(
    "the way out: circles",
    "a tool that calls itself over HTTP, plain and as a stored call",
    gaveWay,
    seen.join(", "),
  );
}

async function endless(lab: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const long = await fetched(lab, { url: `${lab.peer.origin}/endless` });
  if (long.rule !== "size") gaveWay.push(`an endless answer: ${long.rule ?? long.status ?? "?"}`);
  const many = await fetched(lab, { url: `${lab.peer.origin}/`, times: 200 });
  if (many.rule !== "connections") gaveWay.push(`200 requests at once: ${many.rule ?? many.status ?? "?"}`);
  const again = await fetched(lab, { url: `${lab.peer.origin}/` });
  if (again.status !== 200) gaveWay.push(`afterwards nothing goes out: ${again.rule ?? "?"}`);
  return rowOf(
    "the way out: size and connections",
    "an answer without an end, 200 requests at once",
    gaveWay,
    "cut off, refused, and open again after",
  );
}
