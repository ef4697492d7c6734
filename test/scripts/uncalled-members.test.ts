// What is cut out of a library's classes, and what of it stays.
import { expect, test } from "vitest";
import { withoutMembers } from "../../scripts/uncalled-members.ts";

test("members of these names are gone from each class, and private ones that nobody mentions then", async () => {
  const code = `const ä = "ü";
var A = class {
	#kept = 1;
	#gone = 2;
	stays = () => this.#kept;
	/** Of it. */
	goes = (a) => {
		return this.#gone;
	};
	get goesToo() {
		return class { goes() {} };
	}
	static fixed() {}
	goesFrom;
	constructor(a) {
		this.stays2 = a;
		this.goesFrom = (b) => {
			return this.stays2;
		};
		a.goesFrom2 = this.stays2;
	}
};
class B { goes() {} stays() {} }
`;
  const cut = await withoutMembers(code, ["goes", "goesToo", "goesFrom"]);
  expect(cut).not.toMatch(/goes(?!From2)|gone/);
  expect(cut).toContain("\t\tthis.stays2 = a;\n");
  expect(cut).toContain("\t\ta.goesFrom2 = this.stays2;\n");
  expect(cut).toContain(`const ä = "ü";\nvar A = class {\n\t#kept = 1;\n`);
  expect(cut.match(/stays/g)).toHaveLength(4);
  expect(cut).toContain("static fixed() {}");
  const lineOf = (text: string) => text.split("\n").findIndex((line) => line.includes("class B"));
  expect(lineOf(cut)).toBe(lineOf(code));
});

test("code that begins with a comment, or has no such member, stays as it is", async () => {
  const code = `/* ü */ import x from "x";\nexport class A { #a = x; b() { return this.#a; } }\n`;
  expect(await withoutMembers(code, ["c"])).toBe(code);
});
