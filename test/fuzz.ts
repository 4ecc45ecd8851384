// `npm run fuzz -- promises [options]`: control moves and reorgs. `npm run fuzz -- [options]`: the engine.
if (process.argv[2] === 'promises') {
  process.argv.splice(2, 1)
  await import('./promises/run.ts')
} else {
  await import('./evm/fuzz/run.ts')
}
