// openid-client: both discovery documents, and each way to authenticate a client.
import { createPrivateKey, webcrypto } from 'node:crypto';
import { readFileSync } from 'node:fs';

import {
  clientCredentialsGrant,
  ClientSecretBasic,
  ClientSecretPost,
  discovery,
  PrivateKeyJwt
} from 'openid-client';

import { printReport } from './oauth_report.mjs';

const { CLIENT_ID, ORIGIN } = process.env;
const RS256 = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };

async function token(algorithm, authentication) {
  const issuer = new URL(`${ORIGIN}/comptoir/v2.0`);
  const config = await discovery(issuer, CLIENT_ID, undefined, authentication, { algorithm });
  return (await clientCredentialsGrant(config)).access_token;
}

async function signed(key) {
  const der = createPrivateKey(readFileSync(key)).export({ format: 'der', type: 'pkcs8' });
  return PrivateKeyJwt(await webcrypto.subtle.importKey('pkcs8', der, RS256, false, ['sign']));
}

await printReport(
  // a challenge in WWW-Authenticate is an error of its own
  error => error.error ?? error.cause.map(({ scheme }) => scheme).join(),
  {
    'OpenID Connect, basic': secret => token('oidc', ClientSecretBasic(secret)),
    'OpenID Connect, body': secret => token('oidc', ClientSecretPost(secret)),
    'RFC 8414, body': secret => token('oauth2', ClientSecretPost(secret))
  },
  {
    'OpenID Connect, key': async key => token('oidc', await signed(key)),
    'RFC 8414, key': async key => token('oauth2', await signed(key))
  }
);
