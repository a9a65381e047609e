/**
 * Renders the overlays of deploy/kubernetes with `kubectl kustomize`, in a copy where the development overlay's example
 * passwords stand in for the files that are not in the repository.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import type { Manifest } from './manifest.js';

const DEPLOY = fileURLToPath(new URL('../../../deploy', import.meta.url));
const KUBECTL = path.join(DEPLOY, 'kubernetes/kubectl.sh');
const EXAMPLE = '.example';
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** The manifests of each overlay, by its name. Throws what kubectl says where one does not render. */
export function renderOverlays(): Map<string, Manifest[]> {
  const kubectl = execFileSync('bash', [KUBECTL], { encoding: 'utf8' }).trim();
  const work = mkdtempSync(path.join(tmpdir(), 'revcast-manifests-'));
  try {
    for (const part of ['kubernetes', 'nats'])
      cpSync(path.join(DEPLOY, part), path.join(work, part), { recursive: true });
    const overlays = path.join(work, 'kubernetes/overlays');
    return new Map(readdirSync(overlays).map((name) => [name, render(kubectl, path.join(overlays, name))]));
  } finally {
    rmSync(work, { recursive: true });
  }
}

function render(kubectl: string, overlay: string): Manifest[] {
  for (const file of readdirSync(overlay)) {
    if (file.endsWith(EXAMPLE))
      copyFileSync(path.join(overlay, file), path.join(overlay, file.slice(0, -EXAMPLE.length)));
  }
  const text = execFileSync(kubectl, ['kustomize', overlay], { encoding: 'utf8', maxBuffer: MAX_OUTPUT_BYTES });
  return parseManifests(text);
}

/** Throws where it is not YAML. */
function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS() as Manifest;
  });
}
