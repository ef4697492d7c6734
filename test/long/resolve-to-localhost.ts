// Makes every name stand for this machine, in the process that imports it: a name as clients have it in public needs no DNS.

import dns, { type LookupAddress, type LookupOptions } from "node:dns";

const HERE: LookupAddress = { address: "127.0.0.1", family: 4 };

type Found = (error: null, address: string | LookupAddress[], family?: number) => void;

function lookUpHere(_name: string, options: LookupOptions, found: Found): void {
  process.nextTick(() => {
    if (options.all === true) found(null, [HERE]);
    else found(null, HERE.address, HERE.family);
  });
}

dns.lookup = lookUpHere as unknown as typeof dns.lookup;
