// MSAL for Node: an authority with a tenant, and one of OpenID Connect. It keeps a token.
import assert from 'node:assert';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { ConfidentialClientApplication, ProtocolMode } from '@azure/msal-node';

import { printReport, SCOPES } from './oauth_report.mjs';

const { CLIENT_ID, ORIGIN } = process.env;
const AAD = [`${ORIGIN}/comptoir`, ProtocolMode.AAD];
const OIDC = [`${ORIGIN}/comptoir/v2.0`, ProtocolMode.OIDC];
const knownAuthorities = [new URL(ORIGIN).host];

async function token([authority, protocolMode], credential) {
  const application = new ConfidentialClientApplication({
    auth: { clientId: CLIENT_ID, authority, knownAuthorities, ...credential },
    system: { protocolMode }
  });
  const first = await application.acquireTokenByClientCredential({ scopes: SCOPES });
  const second = await application.acquireTokenByClientCredential({ scopes: SCOPES });
  assert.equal(second.fromCache, true);
  return first.accessToken;
}

function certificate(key) {
  const privateKey = readFileSync(key, 'utf8');
  const thumbprintSha256 = new X509Certificate(privateKey).fingerprint256.replaceAll(':', '');
  return { clientCertificate: { privateKey, thumbprintSha256 } };
}

await printReport(
  error => error.errorCode,
  {
    'AAD, secret': clientSecret => token(AAD, { clientSecret }),
    'OIDC, secret': clientSecret => token(OIDC, { clientSecret })
  },
  {
    'AAD, certificate': key => token(AAD, certificate(key)),
    'OIDC, certificate': key => token(OIDC, certificate(key))
  }
);
