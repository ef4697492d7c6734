// Checks texts against the formats of JSON Schema, and `url`: by patterns, and by platform parsers where a pattern is
// not enough. Unknown formats accept every text.

import { isRegExp } from "./schema-shape.ts";

/** Characters for a pattern's brackets that need no escape in any part of a URI (RFC 3986, section 2). */
const PLAIN = "-\\w.!$&'()*+,;=";
const LABEL = "[a-z\\d](?:[a-z\\d-]{0,61}[a-z\\d])?";
const HOSTNAME = RegExp(`^(?=.{1,253}$)${LABEL}(?:\\.${LABEL})*$`, "i");
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|[01]?\d\d?)(?:\.(?!$)|$)){4}$/;

/** RFC 3986, section 3. `loose`: further characters allowed in names and paths. */
function uriTest(start: string, loose: string, end: string): (text: string) => boolean {
  const some = (more: string): string => `(?:[${PLAIN}~${more}]|%[\\da-f]{2})`;
  const segment = some(`${loose}:@`);
  const rest = some(`${loose}:@/?`);
  const host = `(?:\\[(?:v[\\da-f]+\\.[${PLAIN}~:]+|([\\da-f:.]+))\\]|${some(loose)}*)`;
  const paths = `(?:/${segment}*)*`;
  const pattern = RegExp(
    `^${start}(?:/?/(?:${some(":")}*@)?${host}(?::\\d*)?${paths}|/?${segment}+${paths})${end}(?:\\?${rest}*)?(?:#${rest}*)?$`,
    "i",
  );
  return (text) => {
    const parts = pattern.exec(text);
    return parts !== null && (parts[1] === undefined || isIpv6(parts[1]));
  };
}

function isIpv6(text: string): boolean {
  return /^[\da-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]`);
}

/** Real dates only. `Date` reads an impossible date as one of the next month, or not at all. */
function isDate(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && JSON.stringify(new Date(text)).startsWith(`"${text}`);
}

/** A leap second is only valid at the end of a UTC day. */
function isTime(text: string): boolean {
  const found = /^([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.\d+)?(?:z|([+-])([01]\d|2[0-3]):([0-5]\d))$/i.exec(text);
  if (found === null) return false;
  const [, hour, minute, second, sign = "", hours = 0, minutes = 0] = found;
  const ahead = Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes));
  return second !== "60" || (Number(hour) * 60 + Number(minute) - ahead + 1440) % 1440 === 1439;
}

function isEmail(text: string): boolean {
  const [, name = "", host = ""] =
    /^("(?:[ !#-[\]-~]|\\[ -~])*"|(?!\.|.*\.(?:\.|@))[\w.!#$%&'*+/=?^`{|}~-]+)@(.+)$/i.exec(text) ?? [];
  if (name === "" || name.length > 64 || host.length > 253) return false;
  const [, six, address] = /^\[(ipv6:)?(.*)\]$/i.exec(host) ?? [];
  if (address === undefined) return HOSTNAME.test(host);
  return six === undefined ? IPV4.test(address) : isIpv6(address);
}

/** RFC 6570, without the rules on positions. */
const NAME = "(?:\\w|%[\\da-f]{2})+";
const VARIABLE = `${NAME}(?:\\.${NAME})*(?::[1-9]\\d{0,3}|\\*)?`;

const FORMATS: Readonly<Record<string, RegExp | ((text: string) => boolean)>> = {
  date: isDate,
  time: isTime,
  "date-time": (text) => isDate(text.slice(0, 10)) && /[t\s]/i.test(text.charAt(10)) && isTime(text.slice(11)),
  duration: /^P(?=[\dT])(?!.*(?:Y\d+D|H\d+S|T$))(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/,
  uri: uriTest("[a-z][a-z\\d+.-]*:", "", ""),
  "uri-reference": uriTest("(?:[a-z][a-z\\d+.-]*:)?", '"', "?"),
  "uri-template": RegExp(
    `^(?:[^\\0- \\x7f"<>%\\\\^\`{|}]|%[\\da-f]{2}|\\{[+#./;?&=,!@|]?${VARIABLE}(?:,${VARIABLE})*\\})*$`,
    "i",
  ),
  url: (text) => /^(https?|ftp):\/\/\S+$/i.test(text) && URL.canParse(text),
  email: isEmail,
  hostname: HOSTNAME,
  ipv4: IPV4,
  ipv6: isIpv6,
  regex: isRegExp,
  uuid: /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i,
  "json-pointer": /^(?:\/(?:[^~/]|~0|~1)*)*$/,
  "json-pointer-uri-fragment": RegExp(`^#(?:/(?:[${PLAIN}:@]|%[\\da-f]{2}|~0|~1)*)*$`, "i"),
  "relative-json-pointer": /^(?:0|[1-9]\d*)(?:#|(?:\/(?:[^~/]|~0|~1)*)*)$/,
};

export function isOfFormat(format: string, text: string): boolean {
  const test = FORMATS[format];
  return typeof test === "function" ? test(text) : test?.test(text) !== false;
}
