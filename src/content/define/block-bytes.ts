// Owns the bytes of content blocks: whoever makes an image gives it as it is, and it is written in base64 here. Refuses to
// read anything else of a block.

import { toBase64 } from "../../auth/seal.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";

/** The same blocks where none has bytes, which costs nothing. */
export function blocksInText(blocks: readonly unknown[]): readonly unknown[] {
  return blocks.some((block) => isObject(block) && holderOf(block)) ? blocks.map(blockInText) : blocks;
}

/** `data` of an image or audio, and `blob` of an embedded resource. */
export function blockInText(block: unknown): unknown {
  const found = isObject(block) && holderOf(block);
  if (!found) return block;
  const [holder, member] = found;
  const written = { ...holder, [member]: toBase64(holder[member] as Uint8Array) };
  return holder === block ? written : { ...block, resource: written };
}

function holderOf(block: JsonObject): readonly [holder: JsonObject, member: string] | undefined {
  if (block.data instanceof Uint8Array) return [block, "data"];
  const { resource } = block;
  return isObject(resource) && resource.blob instanceof Uint8Array ? [resource, "blob"] : undefined;
}
