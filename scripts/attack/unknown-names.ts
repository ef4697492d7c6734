// Whether an answer tells which private tenants exist: the same requests to one of them and to a name that no tenant has.
// Times may differ: whoever needs a secret name chooses one that cannot be guessed.

import { rowOf, type Attack } from "./report.ts";

export const unknownNames: Attack = {
  name: "unknown names",
  classes: ["hidden things that influence visible answers"],
  run: async (target) => {
    const tenant = await target.tenant({ mode: "key" });
    const { token } = await target.key(await target.tenant({ mode: "key" }));
    const credentials = [{}, { key: token }, { key: `${token}x` }, { key: "nothing" }];
    const answerOf = async (name: string) =>
      Promise.all(
        credentials.map(async (credential) => {
          const { status, text } = await target.call(name, "tools/list", {}, credential);
          return `${status} ${text.replaceAll(name, "NAME")}`;
        }),
      );
    const [there, nowhere] = [await answerOf(tenant), await answerOf(`${tenant}-not`)];
    const gaveWay = there.flatMap((one, at) => (one === nowhere[at] ? [] : [`${one} and ${nowhere[at]}`]));
    const tried = `${credentials.length} credentials at a private tenant and at a name that no tenant has`;
    return [rowOf("11 a name that is a tenant's", tried, gaveWay, "the same status and body")];
  },
};
