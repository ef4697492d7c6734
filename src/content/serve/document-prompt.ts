// Owns prompts that a tenant's document holds: templates with arguments, embedded resources and images.

import type { ContentBlock } from "../../protocol/outcome.ts";
import { toBase64 } from "../../auth/seal.ts";
import type { PromptContent, PromptDocument } from "../../tenants/document/tenant-document.ts";
import type { Context } from "../../calls/context.ts";
import { createPrompt, type Prompt } from "../define/prompt.ts";

export function documentPrompt(name: string, document: PromptDocument): Prompt {
  const { title, description, messages } = document;
  return createPrompt({
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    arguments: Object.fromEntries((document.arguments ?? []).map(({ name: argument, ...about }) => [argument, about])),
    handler: (args, ctx) =>
      Promise.all(messages.map(async ({ role, content }) => ({ role, content: await contentOf(content, args, ctx) }))),
  });
}

async function contentOf(content: PromptContent, args: Record<string, string>, ctx: Context): Promise<ContentBlock> {
  switch (content.type) {
    case "text":
      return { type: "text", text: fill(content.text, args) };
    case "image":
      return { ...content };
    case "resource": {
      const uri = fill(content.uri, args);
      const found = await ctx.resources.read(uri);
      if (!found) throw new Error(`the prompt needs the resource ${uri}, which is not there`);
      const { mimeType, text, blob } = found;
      const body = text === undefined ? { blob: toBase64(blob) } : { text };
      return { type: "resource", resource: { uri, mimeType, ...body } };
    }
  }
}

/** Puts arguments in the place of `{{name}}`; one that was not given becomes the empty text. */
function fill(template: string, args: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{\{\s*([A-Za-z0-9_.-]+)\s*\}\}/g, (_whole, name: string) =>
    Object.hasOwn(args, name) ? (args[name] ?? "") : "",
  );
}
