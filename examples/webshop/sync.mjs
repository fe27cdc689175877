// Keep a webshop in step with the ERP: what has changed since the last run, in both directions.
//
// The shop is a JSON file here: its copies of records, the delta links of the last run, and what
// customers have changed in their contact data since then.

import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

const KEYS = { itemsExt: 'id', salesPricesExt: 'entryNo', contactsExt: 'id' };
const { BASE, COMPANY, TOKEN, SHOP = 'shop.json' } = process.env;
const HERE = `${BASE}/companies(${COMPANY})`;

// Send a request, and again what was throttled (429), refused for a while (503), or not answered.
async function send(address, { method = 'GET', body, headers } = {}) {
  for (let attempt = 0; ; attempt += 1) {
    const asked = fetch(address, {
      method,
      body: body && JSON.stringify(body),
      headers: {
        Authorization: `Bearer ${TOKEN}`,
        ...(body && { 'Content-Type': 'application/json' }),
        ...headers,
      },
    });
    const response = await asked.catch(() => null);
    if (response && ![429, 503].includes(response.status)) return response;
    if (attempt === 8) throw new Error(`${method} ${address}: ${response?.status ?? 'no answer'}`);
    await wait(1000 * (response?.headers.get('Retry-After') ?? 2 ** attempt / 4));
  }
}

async function json(response) {
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return response.json();
}

// Send each edit with the ETag that it is based on; where both sides changed, the ERP wins.
async function push(shop) {
  for (let [key, edit] of Object.entries(shop.edits)) {
    const address = `${HERE}/contactsExt(${key})`;
    let known = shop.contactsExt[key];
    const update = () =>
      send(address, { method: 'PATCH', body: edit, headers: { 'If-Match': known['@odata.etag'] } });
    let response = await update();
    while (response.status === 412) {
      const now = await json(await send(address));
      const lost = Object.keys(edit).filter(
        (name) => now[name] !== known[name] && now[name] !== edit[name],
      );
      const names = lost.sort().join(', ');
      if (names) console.log(`contact ${now.number}: the ERP has changed ${names}`);
      edit = Object.fromEntries(Object.entries(edit).filter(([name]) => !lost.includes(name)));
      known = now;
      response = await update();
    }
    if (response.status !== 404) await json(response); // the edit of a deleted contact has no use
  }
  shop.edits = {};
}

// Read what has changed since the last run: all records the first time, and after 410.
async function pull(shop, kind) {
  const address = `${HERE}/${kind}`;
  let link = shop.links[kind] ?? address;
  let records = link === address ? {} : shop[kind];
  while (link) {
    const response = await send(link, { headers: { Prefer: 'odata.track-changes' } });
    if (response.status === 410) { // the delta link is too old
      link = address;
      records = {};
      continue;
    }
    const page = await json(response);
    for (const record of page.value) {
      if ('reason' in record) delete records[record.id.match(/\(([^()]*)\)$/)[1]]; // deleted
      else records[record[KEYS[kind]]] = record;
    }
    link = page['@odata.nextLink'];
    shop.links[kind] = page['@odata.deltaLink'];
  }
  shop[kind] = records;
}

const shop = existsSync(SHOP) ? JSON.parse(await readFile(SHOP)) : { edits: {}, links: {} };
await push(shop); // first, since reading replaces what the edits are based on
for (const kind of Object.keys(KEYS)) await pull(shop, kind);
await writeFile(`${SHOP}.new`, JSON.stringify(shop, null, 1));
await rename(`${SHOP}.new`, SHOP);
console.log(`${SHOP}: ${Object.keys(KEYS).map((kind) => `${Object.keys(shop[kind]).length} ${kind}`).join(', ')}`);
