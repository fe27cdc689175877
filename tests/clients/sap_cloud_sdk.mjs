// The scenario by a client that the SAP Cloud SDK generated from `$metadata`; prints a `Report` as
// JSON. The folder of the generated client is the first argument. The SDK's batches are multipart.

import { createRequire } from 'node:module';

const require = createRequire(`${process.argv[2]}/`);
const client = require('./index.js').comptoir();
const { and, asc, contains, desc } = require('@sap-cloud-sdk/odata-v4');
const { executeHttpRequest } = require('@sap-cloud-sdk/http-client');
require('@sap-cloud-sdk/util').setGlobalLogLevel('error'); // what it logs goes where reports go

const headers = { Authorization: `Bearer ${process.env.TOKEN}` };
const company = { url: process.env.COMPANY, headers };
const base = { url: process.env.BASE, headers };
const contacts = client.contactsExtApi;
const { schema } = contacts;
const ask = () => contacts.requestBuilder();
const withNumber = number => ask().getAll().filter(schema.NUMBER.equals(number));
const newContact = (number, displayName) =>
  ask().create(contacts.entityBuilder().number(number).displayName(displayName).build());
const write = request => request.execute(company);

async function reads() {
  const companies = client.companiesApi.requestBuilder().getAll();
  // it generates no fields for what a company contains, which has no binding
  const contained = { $expand: 'shippingAgentsExt($select=code;$orderby=code;$top=2)' };
  const own = client.companiesApi.requestBuilder()
    .getByKey(company.url.match(/\(([^)]*)\)$/)[1])
    .addCustomQueryParameters(contained);
  const inLyon = schema.CITY.equals('Lyon');
  const some = ask().getAll()
    .filter(and(inLyon, contains(schema.NUMBER, 'C000')))
    .orderBy(asc(schema.NUMBER));
  const window = ask().getAll().orderBy(desc(schema.NUMBER)).skip(2).top(3);
  const [person] = await withNumber('C0001')
    .select(schema.DISPLAY_NAME)
    .expand(schema.COMPANY.select(schema.DISPLAY_NAME))
    .execute(company);
  return {
    companies: (await companies.execute(base)).map(each => each.name),
    contained: (await own.execute(base)).getCustomField('shippingAgentsExt').map(each => each.code),
    filtered: (await some.execute(company)).map(each => each.number),
    counted: await ask().getAll().filter(inLyon).count().execute(company),
    paged: await everyPage(await ask().getAll().executeRaw(company)),
    window: (await window.execute(company)).map(each => each.number),
    read: [person.displayName, person.company.displayName]
  };
}

async function everyPage({ data }) {
  const ids = new Set();
  for (let page = data; page; page = await pageBehind(page)) {
    page.value.forEach(record => ids.add(record.id));
  }
  return ids.size;
}

async function pageBehind(page) {
  const url = page['@odata.nextLink'];
  return url && (await executeHttpRequest({ url, headers }, { method: 'get' })).data;
}

async function writes() {
  const made = await write(newContact('N1', 'Made'));
  const stale = await write(ask().getByKey(made.id));
  const created = stale.displayName;
  made.displayName = 'Changed';
  await write(ask().update(made));
  stale.displayName = 'Lost';
  const conflict = await status(write(ask().update(stale)));
  const staleDelete = await status(write(ask().delete(stale)));
  const kept = await write(ask().getByKey(made.id));
  await write(ask().delete(kept));
  return {
    created,
    updated: [kept.displayName, kept.searchName],
    conflict,
    stale_delete: staleDelete,
    kept: kept.displayName,
    left: await withNumber('N1').count().execute(company)
  };
}

async function batches() {
  const read = number => withNumber(number);
  const create = number => newContact(number, number);
  const good = [read('C0001'), client.changeset(create('B1'), create('B2')), read('C0002')];
  const bad = [client.changeset(create('B3'), create('B1')), read('C0001')];
  return {
    batch: statuses(await write(client.batch(...good))),
    failed_batch: statuses(await write(client.batch(...bad))),
    batched: await ask().getAll().filter(contains(schema.NUMBER, 'B')).count().execute(company)
  };
}

function statuses(responses) {
  const of = each => (each.isWriteResponses() ? each.responses : [each]);
  return responses.flatMap(of).map(each => each.httpCode);
}

async function status(work) {
  try {
    await work;
    return 'done';
  } catch (error) {
    return `HTTP ${error.rootCause.response.status}`;
  }
}

const entity_sets = Object.getOwnPropertyNames(Object.getPrototypeOf(client))
  .flatMap(name => client[name].entityConstructor?._entityName ?? [])
  .sort();
const report = { entity_sets, ...(await reads()), ...(await writes()), ...(await batches()) };
console.log(JSON.stringify(report));
