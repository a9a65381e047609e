/**
 * Holds manifests against the types of Kubernetes' interface (kubernetes-types) with TypeScript itself: each becomes an
 * object literal of its kind's type, so that a field which the type does not have is an error at any depth, and so is
 * a wrong type, a missing field, or a word that is none of those allowed.
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { nameOf, type Manifest } from './manifest.js';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const FILE = path.join(HERE, 'rendered-manifests.ts');

const MAX_TEXT = 300;

/** Where each kind's type is. What is not here is an unknown kind. */
const MODULES: Readonly<Record<string, readonly [module: string, kinds: readonly string[]]>> = {
  v1: [
    'kubernetes-types/core/v1.js',
    ['ConfigMap', 'Namespace', 'PersistentVolumeClaim', 'Secret', 'Service', 'ServiceAccount'],
  ],
  'apps/v1': ['kubernetes-types/apps/v1.js', ['DaemonSet', 'Deployment', 'StatefulSet']],
  'autoscaling/v2': ['kubernetes-types/autoscaling/v2.js', ['HorizontalPodAutoscaler']],
  'batch/v1': ['kubernetes-types/batch/v1.js', ['CronJob', 'Job']],
  'monitoring.coreos.com/v1': ['./service-monitor.js', ['ServiceMonitor']],
  'networking.k8s.io/v1': ['kubernetes-types/networking/v1.js', ['Ingress', 'NetworkPolicy']],
  'policy/v1': ['kubernetes-types/policy/v1.js', ['PodDisruptionBudget']],
};

const OPTIONS: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: [],
  lib: ['lib.es2022.d.ts'],
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
};

/** What is wrong with each, with its name and the path of the field. */
export function typeProblems(manifests: readonly Manifest[]): string[] {
  const unknown: string[] = [];
  const known = new Set<string>();
  const constants: string[] = [];
  const names: string[] = [];
  for (const manifest of manifests) {
    const module = moduleOf(manifest);
    if (module === undefined) {
      unknown.push(`${nameOf(manifest)}: there is no kind ${manifest.kind} in ${manifest.apiVersion}`);
      continue;
    }
    const type = `import('${module}').${manifest.kind}`;
    const literal = JSON.stringify(manifest);
    // Overlays have much in common.
    if (known.has(literal)) continue;
    known.add(literal);
    constants.push(
      `export const c${names.length}: Required<Pick<${type}, 'apiVersion' | 'kind' | 'metadata'>> & ${type} = ${literal};`,
    );
    names.push(nameOf(manifest));
  }
  return [...unknown, ...compile(constants.join('\n'), names)];
}

function moduleOf({ apiVersion, kind }: Manifest): string | undefined {
  const [module, kinds = []] = MODULES[apiVersion] ?? [];
  return kinds.includes(kind) ? module : undefined;
}

function compile(source: string, names: readonly string[]): string[] {
  const files = ts.createCompilerHost(OPTIONS);
  const file = ts.createSourceFile(FILE, source, ts.ScriptTarget.ES2022, true);
  const host: ts.CompilerHost = {
    ...files,
    getSourceFile: (name, ...rest) => (name === FILE ? file : files.getSourceFile(name, ...rest)),
    fileExists: (name) => name === FILE || files.fileExists(name),
  };
  const program = ts.createProgram({ rootNames: [FILE], options: OPTIONS, host });
  return ts.getPreEmitDiagnostics(program).map((diagnostic) => {
    const text = shortened(ts.flattenDiagnosticMessageText(diagnostic.messageText, ' '));
    if (diagnostic.file !== file || diagnostic.start === undefined) return text;
    const { line } = file.getLineAndCharacterOfPosition(diagnostic.start);
    return `${names[line] ?? '?'}: ${fieldAt(file, diagnostic.start)}: ${text}`;
  });
}

function shortened(text: string): string {
  return text
    .replace('Object literal may only specify known properties, and ', '')
    .replaceAll(`'"`, "'")
    .replaceAll(`"'`, "'")
    .replace(/ in type '\{.*?\}' but/u, ' but')
    .slice(0, MAX_TEXT);
}

/** The path of the innermost property or element at a position, as spec.template.spec.containers[0].image. */
function fieldAt(file: ts.SourceFile, position: number): string {
  let field = '';
  const visit = (node: ts.Node): void => {
    if (position < node.getStart(file) || position >= node.getEnd()) return;
    if (ts.isPropertyAssignment(node) && ts.isStringLiteral(node.name)) field += `.${node.name.text}`;
    if (ts.isArrayLiteralExpression(node.parent)) field += `[${node.parent.elements.indexOf(node as ts.Expression)}]`;
    node.forEachChild(visit);
  };
  file.forEachChild(visit);
  return field.slice(1);
}
