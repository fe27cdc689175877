// @azure/identity for Node. It keeps a token.
import assert from 'node:assert';

import { ClientCertificateCredential, ClientSecretCredential } from '@azure/identity';

import { printReport, SCOPES } from './oauth_report.mjs';

const { CLIENT_ID, ORIGIN } = process.env;
const OPTIONS = { authorityHost: ORIGIN, disableInstanceDiscovery: true };

async function token(Credential, given) {
  const credential = new Credential('comptoir', CLIENT_ID, given, OPTIONS);
  const { token: first } = await credential.getToken(SCOPES);
  assert.equal((await credential.getToken(SCOPES)).token, first);
  return first;
}

await printReport(
  error => error.message,
  { secret: secret => token(ClientSecretCredential, secret) },
  { certificate: certificatePath => token(ClientCertificateCredential, { certificatePath }) }
);
