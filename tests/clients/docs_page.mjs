// Runs the script of the page /docs as a browser does that has come to the page of the first argument,
// and prints what Swagger UI is given: the addresses of the servers, the one that it chooses first, and of
// the token endpoint, and the names of the parameters of some operations.

const [page] = process.argv.slice(2);
const fetched = globalThis.fetch;
globalThis.fetch = (address, options) => fetched(new URL(address, page), options);
globalThis.location = new URL(page);
globalThis.document = { documentElement: { classList: { toggle() {} } } };
globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
globalThis.sessionStorage = { getItem: () => null };
globalThis.SwaggerUIBundle = ({ spec }) => {
  const { tokenUrl } = spec.components.securitySchemes.oauth2.flows.clientCredentials;
  const contacts = '/companies({company_id})/contactsExt';
  const shared = spec.components.parameters;
  const name = each => each.name ?? shared[each.$ref.split('/').at(-1)].name;
  const named = operation => operation.parameters.map(name);
  console.log(JSON.stringify({
    servers: spec.servers.map(each => new URL(each.url, page).href),
    tokenUrl,
    listing: named(spec.paths[contacts].get),
    update: named(spec.paths[`${contacts}({id})`].patch),
  }));
};
const script = await (await fetch('docs/start.js')).text();
(0, eval)(script);
