// Prints a document in CSDL XML as CSDL JSON. The arguments are the folder of the packages, and the file.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [packages, file] = process.argv.slice(2);
const { xml2json } = createRequire(`${packages}/`)('odata-csdl');
console.log(JSON.stringify(xml2json(readFileSync(file, 'utf8'), { messages: [] })));
