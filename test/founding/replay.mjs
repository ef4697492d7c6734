// Replays vectors.json: node replay.mjs <mcp URL> [<gateway URL>] [--federated <mcp URL>]. Modes: bare (Content-Type only), 2024-11-05 and 2025-11-25 (in a session), 2026-07-28 (enveloped). Exit 1 on any failed assertion.
import fs from "node:fs";
const args = process.argv.slice(2),
  fi = args.indexOf("--federated"),
  fed = fi >= 0 ? args.splice(fi, 2)[1] : null,
  [url, gw] = args;
const V = JSON.parse(fs.readFileSync(new URL("./vectors.json", import.meta.url)));
const post = async (u, body, headers = {}) => {
  const r = await fetch(u, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
    signal: AbortSignal.timeout(15000),
  });
  const text = await r.text();
  let j = null;
  if ((r.headers.get("content-type") ?? "").includes("event-stream")) {
    for (const l of text.split(/\r?\n/))
      if (l.startsWith("data:") && l.length > 6) {
        const m = JSON.parse(l.slice(5));
        if ("result" in m || "error" in m) j = m;
      }
  } else if (text)
    try {
      j = JSON.parse(text);
    } catch {}
  return { status: r.status, body: text, j, sid: r.headers.get("mcp-session-id") };
};
const BOTH = { accept: "application/json, text/event-stream" };
const sessions = {};
const session = async (rev) =>
  (sessions[rev] ??= (async () => {
    const r = await post(
      url,
      JSON.stringify({
        jsonrpc: "2.0",
        id: 0,
        method: "initialize",
        params: { protocolVersion: rev, capabilities: {}, clientInfo: { name: "vectors", version: "1" } },
      }),
      BOTH,
    );
    const h = {
      ...BOTH,
      ...(r.sid ? { "mcp-session-id": r.sid } : {}),
      ...(rev >= "2025-06-18" ? { "mcp-protocol-version": rev } : {}),
    };
    await post(url, JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }), h);
    return h;
  })());
const envelope = (m) => {
  const p = {
    ...(m.params ?? {}),
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "vectors", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  };
  return { ...m, params: p };
};
const send = async (v, mode, target) => {
  const raw = v.raw ?? JSON.stringify(v.request);
  if (mode === "gateway" || mode === "bare") return post(target, raw);
  if (mode !== "2026-07-28") return post(target, raw, await session(mode));
  const m = v.request,
    o = m && typeof m === "object" && "method" in m ? envelope(m) : m,
    n = m?.params?.name ?? m?.params?.uri;
  const enc = (s) =>
    /^[\x21-\x7e]+( +[\x21-\x7e]+)*$/.test(s) ? s : `=?base64?${Buffer.from(s).toString("base64")}?=`;
  return post(target, JSON.stringify(o), {
    ...BOTH,
    "mcp-protocol-version": "2026-07-28",
    ...(m?.method ? { "mcp-method": m.method } : {}),
    ...(["tools/call", "resources/read", "prompts/get"].includes(m?.method) && n ? { "mcp-name": enc(String(n)) } : {}),
  });
};
const get = (o, path) => {
  if (path === "") return [o];
  const [h, ...t] = path.match(/[^.\[\]]+(?:\[[^\]]*\])?|\[[^\]]*\]/g) ?? [];
  let cur = [o];
  for (let seg of [h, ...t]) {
    seg = seg.replaceAll("\u0001", ".");
    const mm = seg.match(/^([^\[]*)(?:\[([^=]+)=([^\]]*)\])?$/);
    cur = cur.flatMap((c) => {
      if (c == null) return [undefined];
      if (mm[1] === "*") return Array.isArray(c) ? c : [];
      const x = c[mm[1]];
      return mm[2] ? (Array.isArray(x) ? [x.find((y) => String(y?.[mm[2]]) === mm[3])] : [undefined]) : [x];
    });
  }
  return cur;
};
const path = (r, p) =>
  p === "status"
    ? [r.status]
    : p === "body"
      ? [r.body]
      : get(
          r.j,
          p.replace(/\[uri=([^\]]*)\]/g, (_, u) => `[uri=${u.replaceAll(".", "\u0001")}]`),
        );
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const test = (xs, op, want) => {
  const x = xs[0];
  switch (op) {
    case "eq":
      return same(x, want);
    case "in":
      return want.some((w) => same(w, x));
    case "absent":
      return x === undefined;
    case "array":
      return Array.isArray(x);
    case "object":
      return x !== null && typeof x === "object" && !Array.isArray(x);
    case "string":
      return typeof x === "string" && x !== "";
    case "number":
      return typeof x === "number";
    case "contains":
      return String(x).includes(want);
    case "notTrue":
      return x !== true;
    case "empty":
      return !x;
    case "unique":
      return new Set(xs).size === xs.length;
    case "includes":
      return want.every((w) => xs.includes(w));
    case "iso8601IfPresent":
      return xs.every((s) => s === undefined || /^\d{4}-\d\d-\d\dT.*Z$/.test(s));
    default:
      throw new Error("op " + op);
  }
};
let pass = 0,
  fail = 0,
  left = 0;
for (const v of V) {
  const target = v.to === "mcp" ? url : v.to === "gateway" ? gw : v.to === "federated" ? fed : null;
  if (!target || !v.assert) {
    left++;
    continue;
  }
  for (const mode of v.to === "gateway" ? ["gateway"] : v.modes) {
    if (process.env.MODES && !process.env.MODES.split(",").includes(mode)) continue;
    let bad = [];
    try {
      const r = await send(v, mode, target);
      const list = mode === "2026-07-28" && v.assert2026 ? v.assert2026 : v.assert;
      for (const [p, op, want] of list) {
        if (
          p === "status" &&
          op === "eq" &&
          want === 200 &&
          mode === "2026-07-28" &&
          list.some((a) => a[0] === "error.code")
        )
          continue;
        const xs = path(r, p);
        if (!test(xs, op, want))
          bad.push(`${p} ${op} ${JSON.stringify(want) ?? ""} got ${JSON.stringify(xs[0])?.slice(0, 120)}`);
      }
      if (r.status >= 500) bad.push("5xx");
      if (/\n\s+at .+:\d+:\d+/.test(r.body)) bad.push("stack");
    } catch (e) {
      bad.push(String(e.message).slice(0, 120));
    }
    if (bad.length) {
      fail++;
      console.log(`FAIL ${v.document}:${v.line} [${mode}] ${v.name} | ${bad.join(" ; ")}`);
    } else pass++;
  }
}
console.log(`${pass} passed, ${fail} failed, ${left} vectors need a flow, an upstream script or a reader`);
process.exit(fail ? 1 : 0);
