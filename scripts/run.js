// node scripts/run.js <file.ts> [parameters]       runs a file of the project on Node 26
// node scripts/run.js --bin <name> [parameters]    runs a program of an installed package
// Installs what is missing first. Runs on any Node from 18 on: plain JavaScript, no packages.
import process from 'node:process';
import { launch } from './launch.js';

const [first, ...rest] = process.argv.slice(2);
const [name, ...afterName] = rest;

if (first === '--bin' && name !== undefined) await launch({ bin: name, parameters: afterName });
else if (first !== undefined && first !== '--bin') await launch({ file: first, parameters: rest });
else {
  console.error(
    'Usage: node scripts/run.js <file.ts> [parameters]\n       node scripts/run.js --bin <name> [parameters]',
  );
  process.exit(2);
}
