// What the scripts of OAuth clients in JavaScript share; a request elsewhere than here ends them.
import { createHook } from 'node:async_hooks';
import { writeSync } from 'node:fs';

const { CLIENT_SECRET, KEY, OTHER_KEY, RECORDS } = process.env;

export const TOKEN_PATH = '/comptoir/oauth2/v2.0/token';
export const SCOPES = ['api://comptoir/.default'];

createHook({
  init(id, type, trigger, { hostname }) {
    if (type === 'GETADDRINFOREQWRAP' && hostname !== 'localhost') {
      // a library could catch an exception
      writeSync(2, `asks for ${hostname}\n`);
      process.exit(1);
    }
  }
}).enable();

async function readWith(token) {
  const response = await fetch(RECORDS, { headers: { Authorization: `Bearer ${token}` } });
  return (await response.json()).value[0].code;
}

/**
 * Print what each mode reads with the token that it gets, and its error for a wrong credential.
 * A key is a PEM file with a private key and its certificate.
 */
export async function printReport(errorOf, withSecret, withKey = {}) {
  const report = {};
  const add = async (mode, token, right, wrong) => {
    report[mode] = {
      record: await readWith(await token(right)),
      refusal: await token(wrong).then(got => `no error, but ${got}`, errorOf)
    };
  };
  for (const [mode, token] of Object.entries(withSecret))
    await add(mode, token, CLIENT_SECRET, `${CLIENT_SECRET}x`);
  for (const [mode, token] of Object.entries(withKey)) await add(mode, token, KEY, OTHER_KEY);
  console.log(JSON.stringify(report));
}
