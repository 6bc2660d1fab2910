import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { auditDependencies, Lock, Manifest } from './dependency-rules.ts';

// node scripts/run.js scripts/audit-dependencies.ts [directory]
// Checks every dependency against our rules, and asks the registry for known vulnerabilities. Exits with 1 if a rule is
// broken or a vulnerability is known. A registry without advisories is reported, and does not count as a good result.

const root = process.argv[2] ?? process.cwd();
const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));

function licenceOf(path: string): string | null {
  const file = join(root, path, 'package.json');
  if (!existsSync(file)) return null;
  const { license, licenses } = JSON.parse(readFileSync(file, 'utf8'));
  const [first] = Array.isArray(licenses) ? licenses : [license];
  return typeof first === 'string' ? first : (first?.type ?? null);
}

const lock = Lock.parse(readJson('package-lock.json'));
const breaches = auditDependencies({
  manifest: Manifest.parse(readJson('package.json')),
  lock,
  licenceOf,
  decisions: readFileSync(join(root, 'docs/decisions/0001-dependencies.md'), 'utf8'),
});
for (const breach of breaches) console.log(breach);
console.log(`Rules: ${Object.keys(lock.packages).length - 1} packages looked at, ${breaches.length} breaches.`);

const advice = askRegistry();
console.log(`Advisories: ${advice.text}`);
if (breaches.length > 0 || advice.isBad) process.exitCode = 1;

/** The result of `npm audit` for production dependencies. */
function askRegistry(): { isBad: boolean; text: string } {
  const parameters = ['audit', '--omit=dev', '--audit-level=high', '--json'];
  const { stdout, error } = spawnSync('npm', parameters, {
    cwd: root,
    encoding: 'utf8',
    timeout: 120_000,
    shell: process.platform === 'win32',
  });
  const notAsked = (why: string) => ({
    isBad: false,
    text: `NOT CHECKED, because the registry gave no answer: ${why}`,
  });
  if (error !== undefined) return notAsked(error.message);
  let answer: { metadata?: { vulnerabilities?: Record<string, number> }; message?: string; vulnerabilities?: object };
  try {
    answer = JSON.parse(stdout);
  } catch {
    return notAsked('npm audit printed no JSON');
  }
  const counts = answer.metadata?.vulnerabilities;
  if (counts === undefined) return notAsked(answer.message ?? 'npm audit printed no counts');
  const bad = (counts.high ?? 0) + (counts.critical ?? 0);
  if (bad === 0)
    return { isBad: false, text: `none of high or critical severity in production (${JSON.stringify(counts)}).` };
  return {
    isBad: true,
    text: `${bad} of high or critical severity in ${Object.keys(answer.vulnerabilities ?? {}).join(', ')}.`,
  };
}
