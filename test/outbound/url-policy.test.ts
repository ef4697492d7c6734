// Where a request may go: by what its URL says in every notation, and by what its name stands for. The oracle compares
// numbers; the code compares bits.

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findBrokenRule, findBrokenRuleInUrl } from "../../src/outbound/url-policy.ts";
import { isPublicAnswer } from "../../src/outbound/public-address.ts";
import { SEED } from "../support/seed.ts";

/** First and last address of every range of the registry that is in no other, as numbers. */
const SPECIAL: readonly (readonly [number, number])[] = [
  [0x00_00_00_00, 0x00_ff_ff_ff],
  [0x0a_00_00_00, 0x0a_ff_ff_ff],
  [0x64_40_00_00, 0x64_7f_ff_ff],
  [0x7f_00_00_00, 0x7f_ff_ff_ff],
  [0xa9_fe_00_00, 0xa9_fe_ff_ff],
  [0xac_10_00_00, 0xac_1f_ff_ff],
  [0xc0_00_00_00, 0xc0_00_00_ff],
  [0xc0_00_02_00, 0xc0_00_02_ff],
  [0xc0_1f_c4_00, 0xc0_1f_c4_ff],
  [0xc0_34_c1_00, 0xc0_34_c1_ff],
  [0xc0_58_63_00, 0xc0_58_63_ff],
  [0xc0_a8_00_00, 0xc0_a8_ff_ff],
  [0xc0_af_30_00, 0xc0_af_30_ff],
  [0xc6_12_00_00, 0xc6_13_ff_ff],
  [0xc6_33_64_00, 0xc6_33_64_ff],
  [0xcb_00_71_00, 0xcb_00_71_ff],
  [0xe0_00_00_00, 0xff_ff_ff_ff],
  [0xa8_3f_81_10, 0xa8_3f_81_10],
];
const isSpecial = (address: number) => SPECIAL.some(([first, last]) => address >= first && address <= last);

const special = fc
  .constantFrom(...SPECIAL)
  .chain(([first, last]) => fc.oneof(fc.constantFrom(first, last), fc.integer({ min: first, max: last })));
const beside = fc
  .constantFrom(...SPECIAL.flatMap(([first, last]) => [first - 1, last + 1]))
  .filter((at) => at >= 0 && at < 2 ** 32);
const addresses = fc.oneof(special, beside, fc.integer({ min: 0, max: 2 ** 32 - 1 }));

const partsOf = (address: number) => [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256);
const radices = fc.constantFrom<(n: number) => string>(
  String,
  (n) => `0x${n.toString(16)}`,
  (n) => `0X${n.toString(16).toUpperCase()}`,
  (n) => `0${n.toString(8)}`,
  (n) => `0x0000${n.toString(16)}`,
);

/** One, two, three or four parts, each in a radix of its own: the last part holds what is left. */
const numbers = (address: number) =>
  fc.tuple(fc.integer({ min: 1, max: 4 }), fc.array(radices, { minLength: 4, maxLength: 4 })).map(([count, write]) => {
    const parts = partsOf(address);
    const last = parts.slice(count - 1).reduce((sum, part) => sum * 256 + part, 0);
    return [...parts.slice(0, count - 1), last].map((part, at) => write[at]?.(part)).join(".");
  });

/** What IDNA takes for an ASCII character, and what a URL takes for it. */
const disguises = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => `${text}.`,
  (text) => text.replaceAll(".", "。"),
  (text) => text.replaceAll(".", "．"),
  (text) => text.replaceAll(".", "｡"),
  (text) => text.replaceAll(/[0-9a-fA-FxX]/g, (c) => String.fromCodePoint((c.codePointAt(0) ?? 0) + 0xfe_e0)),
  (text) => text.replaceAll(/[0-9.]/g, (c) => `%${(c.codePointAt(0) ?? 0).toString(16)}`),
  (text) => text.replaceAll("1", "①").replaceAll("2", "②"),
);
const notations = addresses.chain((address) =>
  fc.tuple(numbers(address), disguises).map(([text, disguise]) => ({ address, host: disguise(text) })),
);

const hex = (address: number) => {
  const text = address.toString(16).padStart(8, "0");
  return `${text.slice(0, 4)}:${text.slice(4)}`;
};
const dotted = (address: number) => partsOf(address).join(".");
/** Every IPv6 form that holds an IPv4 address: none of them is a place that somebody outside may name. */
const wrapped = addresses.chain((address) =>
  fc
    .constantFrom(
      `::ffff:${dotted(address)}`,
      `::FFFF:${hex(address)}`,
      `0:0:0:0:0:ffff:${hex(address)}`,
      `::${dotted(address)}`,
      `::ffff:0:${dotted(address)}`,
      `64:ff9b::${dotted(address)}`,
      `64:ff9b:1::${hex(address)}`,
      `64:ff9b:1:ffff::${hex(address)}`,
      `2002:${hex(address)}::1`,
      `2001:0:4136:e378:8000:63bf:${hex(2 ** 32 - 1 - address)}`,
      `2001:0:${hex(address)}:8000:63bf:3fff:fdd2`,
    )
    .map((host) => ({ address, host })),
);

const nobody = { allow: undefined, resolve: undefined };
const at = (url: string) => findBrokenRule(new URL(url), nobody);

describe("an address in a URL", () => {
  it("is refused in every notation where it is special, and in none where it is public", async () => {
    await fc.assert(
      fc.asyncProperty(notations, async ({ address, host }) => {
        expect(await at(`https://${host}/`), host).toBe(isSpecial(address) ? "address" : undefined);
      }),
      { ...SEED, numRuns: 3000 },
    );
  });

  it("is refused inside of every IPv6 address that holds it", async () => {
    await fc.assert(
      fc.asyncProperty(wrapped, async ({ host }) => {
        expect(await at(`https://[${host}]/`), host).toBe("address");
        expect(isPublicAnswer(host), host).toBe(false);
      }),
      { ...SEED, numRuns: 1000 },
    );
  });

  it.each([
    "::",
    "::1",
    "fe80::1",
    "febf::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "fec0::1",
    "100::1",
    "5f00::1",
    "2001:db8::1",
    "2001:2::1",
    "2001:20::1",
    "3fff::1",
    "2620:4f:8000::1",
    "4000::1",
  ])("[%s] is refused", async (host) => {
    expect(await at(`https://[${host}]/`)).toBe("address");
  });

  it.each(["2606:4700:4700::1111", "2a00:1450:4001:80e::200e", "2400:cb00:2048:1::c629:d7a2", "2001:4860:4860::8888"])(
    "[%s] may be asked",
    async (host) => {
      expect(await at(`https://[${host}]/`)).toBeUndefined();
      expect(isPublicAnswer(host)).toBe(true);
    },
  );

  it.each([
    "https://[fe80::1%25eth0]/",
    "https://[::1%eth0]/",
    "https://[::1",
    "https://1.2.3.4.5/",
    "https://0x/0x1.0x2.3.4.09",
  ])("%s is no URL at all, or no address", (url) => {
    const parsed = URL.canParse(url) ? new URL(url) : undefined;
    expect(parsed === undefined || findBrokenRuleInUrl(parsed) !== undefined).toBe(true);
  });
});

describe("a URL", () => {
  it.each([
    ["http://example.com/", "scheme"],
    ["ftp://example.com/", "scheme"],
    ["file:///etc/passwd", "scheme"],
    ["data:text/plain,x", "scheme"],
    ["blob:https://example.com/1", "scheme"],
    ["https://user@example.com/", "credentials"],
    ["https://:password@example.com/", "credentials"],
    ["https://example.com:22/", "port"],
    ["https://example.com:0/", "port"],
    ["https://example.com:8443/", undefined],
    ["https://example.com:443/", undefined],
    ["https://example.com./", undefined],
    ["https://EXAMPLE.com/", undefined],
  ])("%s: %s", async (url, rule) => {
    expect(await at(url)).toBe(rule);
  });
});

describe("a name of no public place", () => {
  const names = [
    "localhost",
    "LocalHost",
    "a.localhost",
    "localhost.",
    "localhost..",
    "localhost.localdomain",
    "printer.local",
    "metadata",
    "metadata.google.internal",
    "metadata.google.internal.",
    "instance-data.ec2.internal",
    "kubernetes.default.svc",
    "db.default.svc.cluster.local",
    "router.home.arpa",
    "1.0.0.127.in-addr.arpa",
    "intranet",
    "wiki.corp",
    "nas.lan",
    "hidden.onion",
    "service.consul",
    "x.test",
    "x.invalid",
    "x.example",
    "ｌｏｃａｌｈｏｓｔ",
    "LOCALHOST。",
    "loca%6chost",
    "ⓛocalhost",
  ];
  it.each(names)("%s is refused", async (name) => {
    expect(await at(`https://${name}/`)).toBe("name");
  });

  it.each(["localhost.example.com", "internal.example.com", "mylocal.dev", "notlocalhost.com", "arpa.net"])(
    "%s is not one",
    async (name) => {
      expect(await at(`https://${name}/`)).toBeUndefined();
    },
  );
});

describe("what a name stands for", () => {
  const named = (found: readonly string[]) =>
    findBrokenRule(new URL("https://api.example.com/"), { allow: undefined, resolve: () => Promise.resolve(found) });

  it("is refused where any of its addresses is not public, however it is written", async () => {
    await fc.assert(
      fc.asyncProperty(addresses, async (address) => {
        const expected = isSpecial(address) ? "address" : undefined;
        expect(await named(["1.1.1.1", dotted(address), "2606:4700:4700::1111"])).toBe(expected);
      }),
      { ...SEED, numRuns: 500 },
    );
    for (const address of [
      "::1",
      "fe80::1%eth0",
      "::ffff:1.1.1.1",
      "fd00::1",
      "nonsense",
      "",
      "1.1.1.1:80",
      "1.1.1.1/x",
    ]) {
      expect(await named(["1.1.1.1", address]), address).toBe("address");
    }
  });

  it("are refused where there are none", async () => {
    expect(await named([])).toBe("resolution");
  });

  it("are looked up without the dot of the root, and not at all where the host is an address", async () => {
    const requests: string[] = [];
    const resolve = (name: string) => {
      requests.push(name);
      return Promise.resolve(["1.1.1.1"]);
    };
    for (const url of [
      "https://api.example.com./",
      "https://1.1.1.1/",
      "https://[2606:4700::1]/",
      "https://10.0.0.1/",
    ]) {
      await findBrokenRule(new URL(url), { allow: undefined, resolve });
    }
    expect(requests).toEqual(["api.example.com"]);
  });
});

describe("OUTBOUND_ALLOW", () => {
  const allow = "http://localhost, db.internal:8443,*.svc.corp ,HTTP://10.1.2.3:9000,https.corp";
  const resolve = () => Promise.reject(new Error("nobody is asked"));
  it.each([
    ["http://localhost:1234/", undefined],
    ["https://localhost/", undefined],
    ["http://LOCALHOST./", undefined],
    ["https://a.localhost/", "name"],
    ["https://db.internal:8443/", undefined],
    ["https://db.internal/", "name"],
    ["http://db.internal:8443/", "scheme"],
    ["https://a.svc.corp/", undefined],
    ["https://a.b.svc.corp:99/", undefined],
    ["https://svc.corp/", "name"],
    ["https://evilsvc.corp/", "name"],
    ["http://10.1.2.3:9000/", undefined],
    ["http://0xa010203:9000/", undefined],
    ["http://10.1.2.3/", "scheme"],
    ["https://10.1.2.3/", "address"],
    ["ftp://localhost/", "scheme"],
    ["https://user@localhost/", "credentials"],
  ])("%s: %s", async (url, rule) => {
    expect(await findBrokenRule(new URL(url), { allow, resolve })).toBe(rule);
  });

  it("allows nothing where the list is empty", async () => {
    for (const list of ["", ",", " , ", "http://", "*."]) {
      expect(await findBrokenRule(new URL("https://localhost/"), { allow: list, resolve: undefined }), list).toBe(
        "name",
      );
    }
  });
});
