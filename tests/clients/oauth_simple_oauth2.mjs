// simple-oauth2: the client's credentials as Basic, and in the body.
import { ClientCredentials } from 'simple-oauth2';

import { printReport, TOKEN_PATH } from './oauth_report.mjs';

const { CLIENT_ID, ORIGIN } = process.env;

async function token(secret, authorizationMethod) {
  const client = new ClientCredentials({
    client: { id: CLIENT_ID, secret },
    auth: { tokenHost: ORIGIN, tokenPath: TOKEN_PATH },
    options: { authorizationMethod }
  });
  return (await client.getToken({})).token.access_token;
}

await printReport(error => error.data.payload.error, {
  basic: secret => token(secret, 'header'),
  body: secret => token(secret, 'body')
});
