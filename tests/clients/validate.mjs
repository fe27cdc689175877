// Judges CSDL: each XML file by the OASIS schema, its conversion to CSDL JSON, and the conversion of
// both it and the JSON file that follows it to OpenAPI 3.1. The first argument is the folder of the
// packages. Prints what each has to complain about.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [packages, ...files] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const { csdl2openapi } = require('odata-openapi');
const { xml2json } = require('odata-csdl');
const { validateXML } = require('xmllint-wasm');

const schema = name => ({
  fileName: name,
  contents: readFileSync(`${packages}/odata-csdl/schemas/${name}`, 'utf8')
});

async function invalid(xml) {
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

async function judged(xmlFile, jsonFile) {
  const xml = readFileSync(xmlFile, 'utf8');
  const unreadable = [];
  const converted = xml2json(xml, { messages: unreadable });
  return {
    invalid: await invalid(xml),
    unreadable: unreadable.map(String),
    converted,
    of_xml: openApi(structuredClone(converted)),
    of_json: openApi(JSON.parse(readFileSync(jsonFile, 'utf8')))
  };
}

const report = [];
for (let at = 0; at < files.length; at += 2) report.push(await judged(files[at], files[at + 1]));
console.log(JSON.stringify(report));
