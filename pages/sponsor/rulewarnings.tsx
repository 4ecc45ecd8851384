import type { RuleWarningJson } from '../../src/bundler/results.ts'
import { checksummed, shortened, visible } from '../wallet/format.ts'

/** The number of rule warnings of an operation; nothing if there are none. */
export function WarningChip({ warnings }: { warnings: readonly RuleWarningJson[] }) {
  if (warnings.length === 0) return null
  const names = [...new Set(warnings.map(({ rule }) => rule))].join(', ')
  return (
    <span class="chip caution" data-testid="rule-warnings" title={`a public bundler refuses this: ${visible(names)}`}>
      {warnings.length === 1 ? `${visible(names)} warning` : `${warnings.length} rule warnings`}
    </span>
  )
}

/** The rules of ERC-7562 that the validation of an operation breaks, each with the entity that breaks it. */
export function RuleWarnings({ warnings }: { warnings: readonly RuleWarningJson[] }) {
  return (
    <ul class="rule-warnings" aria-label="Rule warnings">
      {warnings.map(({ rule, role, entity, message }, i) => (
        <li key={i} data-testid="rule-warning" data-rule={rule}>
          <p>
            <span class="chip caution">{visible(rule)}</span> {role !== null && visible(role)}{' '}
            {entity !== null && (
              <a href={`/address/${checksummed(entity)}`} title={checksummed(entity)}>
                <code>{shortened(checksummed(entity))}</code>
              </a>
            )}{' '}
            <strong>{visible(violationOf(message, role))}</strong>
          </p>
          <p class="aside soft">{visible(adviceOf(message))}</p>
        </li>
      ))}
    </ul>
  )
}

// A message is `account uses banned opcode: TIMESTAMP (OP-011 of ERC-7562, account 0x…), which a validation must not do; …`: what happened, the rule
// in brackets, and what follows from it. Others have no brackets.
const MESSAGE = /^(.*?) \([^()]* of ERC-7562[^()]*\)[,;]? ?(.*)$/s

function violationOf(message: string, role: string | null): string {
  const what = MESSAGE.exec(message)?.[1] ?? message
  return role !== null && what.startsWith(`${role} `) ? what.slice(role.length + 1) : what
}

function adviceOf(message: string): string {
  return MESSAGE.exec(message)?.[2]?.replace(/; a public bundler refuses it too.*$/s, '') ?? '' // both pages show this text
}
