// The yardstick of the gateway: every request goes on to one URL as it came, and the answer comes back as it is. No MCP.
interface Env {
  UPSTREAM: string;
}

export default {
  fetch: (request: Request, { UPSTREAM }: Env): Promise<Response> => {
    const { method, headers, body } = request;
    return fetch(UPSTREAM, { method, headers, body });
  },
};
