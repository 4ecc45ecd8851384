import { describe, expect, it } from 'vitest'
import type { Address, Hex } from '../../eth/index.ts'
import { isWorse } from './plan.ts'
import type { Allowance, BalanceChange, Preview } from '../question.ts'

const TOKEN = `0x${'11'.repeat(20)}` as Address // 20 bytes
const SPENDER = `0x${'22'.repeat(20)}` as Address // 20 bytes

function preview(
  changes: readonly BalanceChange[] = [],
  allowances: readonly Allowance[] = [],
  status: Preview['status'] = 'success',
): Preview {
  return { status, error: null, failedCall: null, changes, allowances }
}

function change(amount: string, token: Address | null = TOKEN): BalanceChange {
  return { asset: token === null ? 'native' : 'erc20', token, symbol: null, decimals: null, tokenId: null, amount }
}

function allowance(amount: string | null, spender: Address = SPENDER): Allowance {
  return { kind: 'erc20', token: TOKEN, symbol: null, decimals: null, spender, spenderLabel: null, amount, isSpent: false }
}

function nft(tokenId: Hex): Allowance {
  return { ...allowance(null), kind: 'nft', tokenId }
}

describe('what was shown and what would happen now are', () => {
  it.each([
    ['the same', preview([change('-5')], [allowance('5')]), preview([change('-5')], [allowance('5')]), false],
    ['the same, with less that leaves', preview([change('-5')]), preview([change('-4')]), false],
    ['the same, with another amount that comes', preview([change('5')]), preview([change('4')]), false],
    ['the same, with less that is allowed', preview([], [allowance('5')]), preview([], [allowance('4')]), false],
    ['the same, when all was allowed already', preview([], [allowance(null)]), preview([], [allowance('9')]), false],
    ['the same, when it had failed before', preview([], [], 'reverted'), preview([], [], 'reverted'), false],
    ['other, when it fails', preview(), preview([], [], 'reverted'), true],
    ['other, when nobody can say any more what they do', preview([], [], 'success'), preview([], [], 'unavailable'), true],
    ['other, when they failed, and nobody can say any more', preview([], [], 'reverted'), preview([], [], 'unavailable'), true],
    ['the same, when nobody could say before', preview([], [], 'unavailable'), preview([change('-5')]), false],
    ['other, when more is not shown', { ...preview(), omitted: 1 }, { ...preview(), omitted: 2 }, true],
    ['other, when nothing comes any more', preview([change('-5'), change('5', null)]), preview([change('-5')]), true],
    ['other, when more leaves', preview([change('-5')]), preview([change('-6')]), true],
    ['other, when something else leaves', preview([change('-5')]), preview([change('-5'), change('-1', null)]), true],
    ['other, when more is allowed', preview([], [allowance('5')]), preview([], [allowance('6')]), true],
    ['other, when all is allowed', preview([], [allowance('5')]), preview([], [allowance(null)]), true],
    ['other, when somebody else is allowed', preview([], [allowance('5')]), preview([], [allowance('5', TOKEN)]), true],
    ['other, when another of a collection is allowed', preview([], [nft('0x1')]), preview([], [nft('0x2')]), true],
    ['the same, with the same of a collection', preview([], [nft('0x1')]), preview([], [nft('0x1')]), false],
    ['other, when it would succeed after all, and take something', preview([], [], 'reverted'), preview([change('-5')]), true],
  ])('%s', (_, then, now, expected) => {
    expect(isWorse(then, now)).toBe(expected)
  })
})
