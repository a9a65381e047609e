/** `make manifests`: renders every overlay of deploy/kubernetes, offline, and says everything that is wrong with it. */
import { fileURLToPath } from 'node:url';
import { hardeningProblems } from './hardening.js';
import { natsProblems } from './nats.js';
import { referenceProblems } from './references.js';
import { renderOverlays } from './render.js';
import { settingsProblems } from './settings.js';
import { typeProblems } from './typed.js';

function main(): number {
  const overlays = renderOverlays();
  const failed = report('types', typeProblems([...overlays.values()].flat()));
  const others = [...overlays].map(([overlay, manifests]) => {
    const problems = [referenceProblems, settingsProblems, natsProblems, hardeningProblems].flatMap((check) =>
      check(manifests),
    );
    return report(`${overlay}, ${manifests.length} manifests`, manifests.length === 0 ? ['it is empty'] : problems);
  });
  return failed || others.includes(true) || others.length === 0 ? 1 : 0;
}

/** Whether there were any. */
function report(what: string, problems: readonly string[]): boolean {
  console.log(`${what}: ${problems.length === 0 ? 'ok' : `${problems.length} problems`}`);
  for (const problem of problems) console.error(`  ${problem}`);
  return problems.length > 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = main();
