// A Worker with admin(), gateway() and login(), and nothing that counts, records or tells, for its size.
import { admin, createWorker, gateway, login } from "../../src/tenantry.ts";

const worker = createWorker({ tenants: {}, features: [admin(), gateway(), login()] });

export * from "../../src/objects.ts";

export default worker;
