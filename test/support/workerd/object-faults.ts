// What the platform does to a call to an object on a bad day.

export const OBJECT_FAULTS = [
  "is lost on the way there",
  "is lost on the way back",
  "is refused as too many",
  "hangs",
] as const;
export type ObjectFault = (typeof OBJECT_FAULTS)[number];

const OVERLOADED = { overloaded: true, retryable: true };

/** The call, as it goes with this fault; what is lost on the way back was done. */
export async function withFault<T>(fault: ObjectFault, work: () => Promise<T>): Promise<T> {
  if (fault === "hangs") return new Promise(() => {});
  if (fault === "is refused as too many") throw Object.assign(new Error("Durable Object is overloaded."), OVERLOADED);
  if (fault === "is lost on the way back") await work();
  throw new Error("Network connection lost.");
}
