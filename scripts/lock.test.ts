import { describe, expect, test } from 'vitest'
import { missingPlatforms } from './lock.mjs'

describe('the lock file lacks', () => {
  test('platform packages that the registry lacks, with their os and cpu', () => {
    const tool = {
      dev: true,
      optionalDependencies: { 'tool-darwin-amd64': '1.0.0', '@tool/linux-arm-musleabihf': '1.0.0', '@tool/linux-x64-gnu': '1.0.0' },
    }
    expect(missingPlatforms({ 'node_modules/tool': tool, 'node_modules/@tool/linux-x64-gnu': {} })).toEqual({
      'node_modules/tool-darwin-amd64': { version: '1.0.0', os: ['darwin'], cpu: ['x64'], dev: true, optional: true },
      'node_modules/@tool/linux-arm-musleabihf': {
        version: '1.0.0',
        os: ['linux'],
        cpu: ['arm'],
        libc: ['musl'],
        dev: true,
        optional: true,
      },
    })
  })

  test('no nested package, no inexact version and no other optional package', () => {
    const optionalDependencies = { 'tool-darwin-arm64': '1.0.0', 'tool-linux-x64': '^1.0.0', bufferutil: '1.0.0' }
    const packages = { 'node_modules/a/node_modules/tool': { optionalDependencies }, 'node_modules/a/node_modules/tool-darwin-arm64': {} }
    expect(missingPlatforms(packages)).toEqual({})
  })
})
