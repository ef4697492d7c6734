// Converts content blocks for revisions that lack their type, to an older type with the same content. No block is
// dropped.

import type { RevisionFeatures } from "../revisions.ts";
import { isObject } from "../jsonrpc.ts";

export function adaptBlocks(blocks: unknown, revision: RevisionFeatures): unknown {
  if ((revision.audio && revision.resourceLinks) || !Array.isArray(blocks)) return blocks;
  return blocks.map((block: unknown, index) => adaptBlock(block, revision, index));
}

/** `index`: the block's position, which makes the URI of an embedded audio unique in its result. */
export function adaptBlock(block: unknown, revision: RevisionFeatures, index = 0): unknown {
  if (!isObject(block)) return block;
  const about = block.annotations === undefined ? {} : { annotations: block.annotations };
  if (block.type === "audio" && !revision.audio) {
    return {
      type: "resource",
      resource: { uri: `urn:audio:${index}`, mimeType: block.mimeType, blob: block.data },
      ...about,
    };
  }
  if (block.type === "resource_link" && !revision.resourceLinks) {
    const description = typeof block.description === "string" ? `: ${block.description}` : "";
    return {
      type: "text",
      text: `${String(block.title ?? block.name)} <${String(block.uri)}>${description}`,
      ...about,
    };
  }
  return block;
}
