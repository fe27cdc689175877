// Runs the script of the page /docs as a browser does that has come to the page of the first argument,
// and prints the addresses of the servers that Swagger UI is given, the one that it chooses first.

const [page] = process.argv.slice(2);
const fetched = globalThis.fetch;
globalThis.fetch = (address, options) => fetched(new URL(address, page), options);
globalThis.SwaggerUIBundle = ({ spec }) =>
  console.log(JSON.stringify(spec.servers.map(each => new URL(each.url, page).href)));
const script = await (await fetch('docs/start.js')).text();
(0, eval)(script);
