import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { completions } from './completions.ts'
import { finish } from './cli.fixture.ts'

const hasShell = (name: string) => spawnSync(name, ['-c', 'true']).status === 0

/** Returns what bash proposes for the last word. */
function proposals(...words: readonly string[]): readonly string[] {
  const script = `${completions('bash')}
COMP_WORDS=(pocketchain ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _pocketchain; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout.split('\n').filter((line) => line !== '')
}

describe('pocketchain completions', () => {
  it.skipIf(!hasShell('bash'))('completes commands and options in bash', () => {
    expect(proposals('de')).toEqual(['demo'])
    expect(proposals('--bundler-r')).toEqual(['--bundler-rules'])
    expect(proposals('demo', '--chain-i')).toEqual(['--chain-id'])
  })

  it.each(['bash', 'zsh', 'fish'] as const)('prints every option for %s', async (shell) => {
    const { code, out, err } = await finish(['completions', shell])
    expect({ code, err, script: out }).toEqual({ code: 0, err: '', script: completions(shell) })
    for (const flag of ['fork-url', 'bundler-rules', 'help']) expect(out).toContain(flag)
  })

  it.each([
    [['completions'], 'expected bash, zsh, fish, not ""'],
    [['completions', 'tcsh'], 'not "tcsh"'],
    [['completions', 'bash', '--port', '0'], 'options have no effect here'],
  ])('refuses %j with code 2', async (args, message) => {
    const { code, out, err } = await finish(args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(message)
  })
})
