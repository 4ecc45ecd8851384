import type { RuleWarningJson, RulesJson } from '../../src/bundler/results.ts'
import { RuleWarnings } from '../sponsor/rulewarnings.tsx'
import { useLoaded } from './head.ts'
import { askAll } from './node.ts'
import { Panel } from './parts.tsx'

/** Rule warnings by operation. */
type WarningsOf = ReadonlyMap<string, readonly RuleWarningJson[]>

const NONE: WarningsOf = new Map()

/** The rule warnings of operations; none while they are loading, or if the node has no such bundler. */
export function useRuleWarnings(hashes: readonly string[]): WarningsOf {
  const loaded = useLoaded((signal) => readWarnings(hashes, signal), [hashes.join()])
  return loaded.value ?? NONE
}

async function readWarnings(hashes: readonly string[], signal: AbortSignal): Promise<WarningsOf> {
  const answers = await askAll(
    hashes.map((hash) => ['pocketchain_userOperationWarnings', hash] as const),
    { signal },
  )
  return new Map(hashes.map((hash, i) => [hash, warningsOf(answers[i])]))
}

/** Returns the result of pocketchain_userOperationWarnings, or no warnings for an error. */
export function warningsOf(answer: unknown): readonly RuleWarningJson[] {
  return Array.isArray(answer) ? (answer as readonly RuleWarningJson[]) : []
}

interface RulesPanelProps {
  /** null: the node does not report them */
  readonly rules: RulesJson | null
  readonly warnings: readonly RuleWarningJson[]
}

/** The rules of the bundler, and what a public one refuses in the operation; nothing if the node has no such bundler. */
export function RulesPanel({ rules, warnings }: RulesPanelProps) {
  if (rules === null && warnings.length === 0) return null
  return (
    <Panel title="Rules" note="of validations, ERC-7562" id="rules">
      {rules !== null && (
        <p data-testid="bundler-rules" data-rules={rules.rules}>
          The rules of this bundler are <strong>{rules.rules}</strong>: <span class="soft">{RULE_TEXTS[rules.rules]}.</span>
        </p>
      )}
      {warnings.length === 0 ? (
        <p class="soft apart" data-testid="no-rule-warnings">
          No warnings of this operation are recorded. The bundler records those of operations that it accepted since it was started.
        </p>
      ) : (
        <>
          <p class="refused">A public bundler refuses this operation:</p>
          <RuleWarnings warnings={warnings} />
        </>
      )}
    </Panel>
  )
}

const RULE_TEXTS: Readonly<Record<RulesJson['rules'], string>> = {
  strict: 'violations are refused, as by a public bundler',
  relaxed: 'violations are accepted with a warning',
  off: 'violations are not looked for',
}
