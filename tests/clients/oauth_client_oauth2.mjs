// client-oauth2.
import ClientOAuth2 from 'client-oauth2';

import { printReport, TOKEN_PATH } from './oauth_report.mjs';

const { CLIENT_ID, ORIGIN } = process.env;

async function token(clientSecret) {
  const accessTokenUri = `${ORIGIN}${TOKEN_PATH}`;
  const client = new ClientOAuth2({ clientId: CLIENT_ID, clientSecret, accessTokenUri });
  return (await client.credentials.getToken()).accessToken;
}

await printReport(error => error.body.error, { basic: token });
