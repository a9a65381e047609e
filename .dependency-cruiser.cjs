// The layers: shared <- log <- {producer, revision} <- edge <- cli. Data flows one way, and so do imports backwards.
const only = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { path: '^services/', pathNot: allowed },
});

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Of code. Types may name each other, as a room and its members do.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    { name: 'no-test-code', severity: 'error', from: { path: '^services/' }, to: { path: '^test/' } },
    {
      name: 'no-dev-dependencies',
      severity: 'error',
      from: { path: '^services/' },
      to: { dependencyTypes: ['npm-dev'], pathNot: ['\\.d\\.ts$', '@types/'] },
    },
    only('shared-is-a-leaf', '^services/shared/', '^services/shared/'),
    only('log-layer', '^services/log/', '^services/(shared|log)/'),
    only('producer-layer', '^services/producer/', '^services/(shared|log|producer)/'),
    only('revision-layer', '^services/revision/', '^services/(shared|log|revision)/'),
    only(
      'edge-layer',
      '^services/edge/',
      '^services/(shared|log|edge)/|^services/revision/(contract|rpc-client)\\.ts$|^services/producer/(contract|rpc-client)\\.ts$',
    ),
    only('console-is-a-leaf', '^services/console/', '^services/(shared|console)/'),
    {
      name: 'nats-stays-behind-the-log',
      severity: 'error',
      from: { path: '^services/', pathNot: '^services/log/jetstream/|/rpc-(client|server)\\.ts$' },
      to: { path: 'node_modules/nats/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'require', 'node', 'default'] },
  },
};
