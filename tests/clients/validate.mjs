// Judges CSDL: the XML file of the first argument by the OASIS schema, its conversion to CSDL JSON,
// and the conversion of both it and the JSON file of the second argument to OpenAPI 3.1. The third
// argument is the folder of the packages. Prints what each has to complain about.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [xmlFile, jsonFile, packages] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const { csdl2openapi } = require('odata-openapi');
const { xml2json } = require('odata-csdl');
const { validateXML } = require('xmllint-wasm');

const xml = readFileSync(xmlFile, 'utf8');
const json = JSON.parse(readFileSync(jsonFile, 'utf8'));

const schema = name => ({
  fileName: name,
  contents: readFileSync(`${packages}/odata-csdl/schemas/${name}`, 'utf8')
});

async function invalid() {
  const { errors } = await validateXML({
    xml: [{ fileName: 'metadata.xml', contents: xml }],
    schema: [schema('edmx.xsd')],
    preload: [schema('edm.xsd')]
  });
  return errors.map(each => each.message);
}

function openApi(csdl) {
  const complaints = [];
  const { paths } = csdl2openapi(csdl, { messages: complaints, openapiVersion: '3.1.0' });
  const creating = Object.keys(paths).filter(path => paths[path].post);
  return { paths: Object.keys(paths), creating, complaints };
}

const unreadable = [];
const converted = xml2json(xml, { messages: unreadable });
const report = {
  invalid: await invalid(),
  unreadable: unreadable.map(String),
  converted,
  of_xml: openApi(structuredClone(converted)),
  of_json: openApi(json)
};
console.log(JSON.stringify(report));
