// Without a validator and without a URL from the query, the page asks nobody but this service. The
// document names the address in the settings first; the browser allows only where the page came from.
fetch("docs/openapi.json")
  .then((response) => response.json())
  .then((spec) =>
    SwaggerUIBundle({
      spec: { ...spec, servers: [...spec.servers].reverse() },
      dom_id: "#interface",
      docExpansion: "none",
      defaultModelsExpandDepth: 0,
      queryConfigEnabled: false,
      validatorUrl: null,
    }),
  );
