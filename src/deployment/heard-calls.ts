// Owns telling the features of a Worker of the calls that were answered. Refuses to let one that fails change an answer.

import type { Deployment, BuiltInFeature } from "./deployment.ts";

/** undefined where no feature hears of calls: then a call costs one look at that. */
export function hearing(features: readonly BuiltInFeature[], { onError }: Deployment["hooks"]): Deployment["heard"] {
  const all = features.flatMap(({ heard }) => heard ?? []);
  const tell = (error: unknown) => onError?.(error, undefined);
  if (all.length === 0) return undefined;
  return (call) => {
    const waited = all.flatMap((heard) => {
      try {
        return heard(call)?.catch(tell) ?? [];
      } catch (error) {
        tell(error);
        return [];
      }
    });
    return waited.length > 0 ? Promise.all(waited) : undefined;
  };
}
