// Without a validator and without a URL from the query, the page asks nobody but this service.
SwaggerUIBundle({
  url: "docs/openapi.json",
  dom_id: "#interface",
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  queryConfigEnabled: false,
  validatorUrl: null,
});
