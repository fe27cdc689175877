// The page shows the OpenAPI document in the order that readers need: the document itself keeps the
// order that generators of clients turn into the order of arguments.

// the addresses of an entity set, and of a record by its key
const COMMON = /^(\/companies\(\{company_id\}\))?\/\w+(\('?\{\w+\}'?\))?$/;
const OPTIONS = ["$filter", "$select", "$orderby", "$top", "$expand", "$search", "$count", "$skip"];
const COMPANY = "company_id";
const COMPANY_KEY = { $ref: `#/components/parameters/${COMPANY}` };
const AUTHORIZED = "comptoir-authorized";
const CHOSEN = "comptoir-company";

const page = { spec: null, ui: null };

// The document names addresses in the settings; the browser allows only where the page came from.
const here = (address) => new URL(new URL(address, location.href).pathname, location.href).href;

const rank = ({ name }) => (OPTIONS.includes(name) ? OPTIONS.indexOf(name) : OPTIONS.length);

// Parameters remain references: Swagger UI takes many seconds for a document without them.
function inOrder(spec) {
  const shared = spec.components.parameters;
  const found = ({ $ref }) => shared[$ref.split("/").at(-1)];
  const flow = spec.components.securitySchemes.oauth2.flows.clientCredentials;
  flow.tokenUrl = here(flow.tokenUrl);
  for (const { parameters: keys = [], ...operations } of Object.values(spec.paths)) {
    shared[COMPANY] ??= keys.find(({ name }) => name === COMPANY);
    const first = keys.map((key) => (key.name === COMPANY ? COMPANY_KEY : key));
    for (const operation of Object.values(operations)) {
      const queries = operation.parameters.filter((each) => found(each).in === "query");
      const others = operation.parameters.filter((each) => found(each).in !== "query");
      queries.sort((a, b) => rank(found(a)) - rank(found(b)));
      operation.parameters = [...first, ...queries, ...others];
    }
  }
  for (const item of Object.values(spec.paths)) delete item.parameters;
  return { ...spec, servers: [...spec.servers].reverse() };
}

// Swagger UI keeps the id of the document under another name once it has resolved an operation.
const operationId = ({ props: { op } }) =>
  op.getIn(["operation", "__originalOperationId"]) ?? op.getIn(["operation", "operationId"]);

// A tag has the common operations of an entity set, and folds the others, which vary their address.
const folded = ({ React: { Children, createElement, useState } }) => ({
  wrapComponents: {
    OperationTag: (Tag) => (props) => {
      const rows = Children.toArray(props.children.props.children);
      const common = rows.filter((row) => COMMON.test(row.props.path));
      const others = rows.filter((row) => !COMMON.test(row.props.path));
      const [linked] = useState(
        others.some((row) => location.hash.endsWith(`/${operationId(row)}`)),
      );
      if (common.length === 0) return createElement(Tag, props);
      const title = `${others.length} variants: counts, links, properties, relations, other keys`;
      const fold = createElement(
        "details",
        { key: "others", open: linked, className: "others" },
        createElement("summary", null, title),
        ...others,
      );
      return createElement(Tag, props, createElement("div", null, common, fold));
    },
  },
});

// The authorization is kept as long as the tab: a secret must not remain in the browser's profile.
const kept = () => ({
  statePlugins: {
    auth: {
      wrapActions: {
        persistAuthorizationIfNeeded: (_, { authSelectors }) => () => {
          const authorized = authSelectors.authorized().toJS();
          sessionStorage.setItem(AUTHORIZED, JSON.stringify(authorized));
          findCompany(authorized);
        },
      },
    },
  },
});

// The first company of the client is the default of each operation.
async function findCompany({ bearer, oauth2 }) {
  const token = bearer?.value ?? oauth2?.token?.access_token;
  if (!token) return;
  const address = `${page.spec.servers[0].url}/companies?$top=1`;
  const response = await fetch(address, { headers: { Authorization: `Bearer ${token}` } });
  if (!response.ok) return;
  const [company] = (await response.json()).value;
  if (!company) return;
  sessionStorage.setItem(CHOSEN, company.id);
  fillIn(company.id);
  page.ui.specActions.updateJsonSpec(page.spec);
}

const fillIn = (company) => {
  page.spec.components.parameters[COMPANY].schema.default = company;
};

const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();

fetch("docs/openapi.json")
  .then((response) => response.json())
  .then((spec) => {
    page.spec = inOrder(spec);
    fillIn(sessionStorage.getItem(CHOSEN) ?? undefined);
    page.ui = SwaggerUIBundle({
      spec: page.spec,
      dom_id: "#interface",
      deepLinking: true,
      defaultModelsExpandDepth: 0,
      displayRequestDuration: true,
      docExpansion: "none",
      filter: true,
      persistAuthorization: true,
      plugins: [folded, kept],
      // without a validator and a URL from the query, the page asks nobody but this service
      queryConfigEnabled: false,
      tryItOutEnabled: true,
      validatorUrl: null,
      onComplete: () => {
        const authorized = JSON.parse(sessionStorage.getItem(AUTHORIZED) ?? "{}");
        page.ui.authActions.restoreAuthorization({ authorized });
      },
    });
  });
