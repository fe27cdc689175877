// oidc-provider as an issuer of JWT access tokens, and of logins to a console with and without a
// secret, at REDIRECT_URI; it prints its URL, and ends with its input.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { createInterface } from 'node:readline';

import { Provider } from 'oidc-provider';

const { AUDIENCE, CERTIFICATE, CLIENT_SECRET, KEY, REDIRECT_URI } = process.env;
const RESOURCE = 'urn:comptoir:tests';

// its notices must not come between our lines
console.info = console.error;

function newKey() {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'RS256' };
}

function provided(url, keys) {
  return new Provider(url, {
    jwks: { keys },
    clients: [
      {
        client_id: 'webshop',
        client_secret: CLIENT_SECRET,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: []
      },
      {
        client_id: 'console',
        client_secret: CLIENT_SECRET,
        redirect_uris: [REDIRECT_URI]
      },
      {
        client_id: 'public-console',
        token_endpoint_auth_method: 'none',
        redirect_uris: [REDIRECT_URI]
      }
    ],
    claims: { openid: ['sub', 'roles'], groups: ['teams'] },
    // ID tokens have the claims of their scopes, as those of most issuers do
    conformIdTokenClaims: false,
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, roles: [`${id}s`], teams: [id] }) }),
    pkce: { required: () => true },
    scopes: ['records.read', 'records.write'],
    ttl: { ClientCredentials: 3600 },
    extraTokenClaims: () => ({ groups: ['sellers'] }),
    features: {
      clientCredentials: { enabled: true },
      // its own pages: any name and any password
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        getResourceServerInfo: () => ({
          scope: 'records.read records.write',
          audience: AUDIENCE,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } }
        })
      }
    }
  }).callback();
}

let keys = [newKey()];
let respond;
const server = createServer(
  { cert: readFileSync(CERTIFICATE), key: readFileSync(KEY) },
  (request, response) => respond(request, response)
);
server.listen(0, '127.0.0.1', () => {
  const url = `https://localhost:${server.address().port}`;
  respond = provided(url, keys);
  console.log(url);
  // each line of the input is a rotation, after which the former keys are still published
  createInterface({ input: process.stdin })
    .on('line', () => {
      keys = [newKey(), ...keys];
      respond = provided(url, keys);
      console.log('rotated');
    })
    .on('close', () => process.exit());
});
