// Judges CSDL: each XML file by the OASIS schema, its conversion to CSDL JSON, and the conversion of
// both it and the JSON file that follows it to OpenAPI 3.1. The first argument is the folder of the
// packages. Prints what each has to complain about. Files with the same content are converted once.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [packages, ...files] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const { csdl2openapi } = require('odata-openapi');
const { xml2json } = require('odata-csdl');
const { validateXML } = require('xmllint-wasm');

const read = name => ({ fileName: name, contents: readFileSync(name, 'utf8') });
const schema = name => ({ ...read(`${packages}/odata-csdl/schemas/${name}`), fileName: name });
const documents = files.map(read);
const { errors } = await validateXML({
  xml: documents.filter(each => each.fileName.endsWith('.xml')),
  schema: [schema('edmx.xsd')],
  preload: [schema('edm.xsd')]
});

const converted = new Map();
function openApi(text, csdl) {
  if (!converted.has(text)) {
    const complaints = [];
    const { paths } = csdl2openapi(csdl, { messages: complaints, openapiVersion: '3.1.0' });
    const creating = Object.keys(paths).filter(path => paths[path].post);
    converted.set(text, { paths: Object.keys(paths), creating, complaints });
  }
  return converted.get(text);
}

function judged(xml, json) {
  const unreadable = [];
  const csdl = xml2json(xml.contents, { messages: unreadable });
  const concerns = error => !error.loc || error.loc.fileName === xml.fileName;
  return {
    invalid: errors.filter(concerns).map(each => each.message),
    unreadable: unreadable.map(String),
    converted: csdl,
    of_xml: openApi(xml.contents, structuredClone(csdl)),
    of_json: openApi(json.contents, JSON.parse(json.contents))
  };
}

const report = [];
for (let at = 0; at < files.length; at += 2) report.push(judged(...documents.slice(at, at + 2)));
console.log(JSON.stringify(report));
