// `tenantry prompt`: a prompt of a tenant's document, written and read as YAML.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

test("a prompt is what it was after get and put", async () => {
  const { admin, cli, folder } = await commandLine();
  const review = {
    description: "Reviews: a text",
    arguments: [{ name: "tone", required: true }, { name: "length" }],
    messages: [{ role: "user" as const, content: { type: "text" as const, text: "Review\n\n  this: {{tone}}\n" } }],
  };
  const tenant = admin.addTenant("acme", { prompts: { review } });
  const { stdout } = await cli.run(["prompt", "get", "acme", "review"]);
  await writeFile(join(folder, "review.yaml"), stdout);
  expect((await cli.run(["prompt", "put", "acme", "copy", "-f", "review.yaml"])).stdout).toBe("copy: written\n");
  expect(tenant.own.prompts).toEqual({ review, copy: review });
  expect((await cli.run(["prompt", "list", "acme"])).stdout).toMatch(/^copy +tone \[length\] +Reviews: a text$/m);
  expect((await cli.run(["prompt", "delete", "acme", "copy"])).exit).toBe(0);
  expect((await cli.run(["prompt", "get", "acme", "copy"])).exit).toBe(3);
});
