import Provider from "oidc-provider";
const [port, page] = process.argv.slice(2);
const client = (client_id, rest) => ({ client_id, application_type: "native", ...rest });
new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    client("page", { token_endpoint_auth_method: "none", redirect_uris: [page] }),
    client("bfsql", { client_secret: "s3cret", redirect_uris: [], response_types: [], grant_types: [] }),
  ],
  clientBasedCORS: () => true,
  scopes: ["openid", "offline_access", "read"],
  cookies: { keys: ["k"] },
  features: {
    registration: { enabled: true },
    introspection: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => ({
        scope: "read", audience: resource, accessTokenFormat: resource.endsWith("opaque") ? "opaque" : "jwt",
      }),
    },
  },
}).listen(port, "127.0.0.1", () => console.log("ready"));
