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

describe('the preview at approval and the preview now are', () => {
  it.each([
    ['the same', preview([change('-5')], [allowance('5')]), preview([change('-5')], [allowance('5')]), false],
    ['the same, if less is spent', preview([change('-5')]), preview([change('-4')]), false],
    ['the same, if another amount is received', preview([change('5')]), preview([change('4')]), false],
    ['the same, if less is allowed', preview([], [allowance('5')]), preview([], [allowance('4')]), false],
    ['the same, if all was allowed already', preview([], [allowance(null)]), preview([], [allowance('9')]), false],
    ['the same, if they failed before', preview([], [], 'reverted'), preview([], [], 'reverted'), false],
    ['different, if they fail', preview(), preview([], [], 'reverted'), true],
    ['different, if the simulation is unavailable now', preview([], [], 'success'), preview([], [], 'unavailable'), true],
    ['different, if they failed and the simulation is unavailable now', preview([], [], 'reverted'), preview([], [], 'unavailable'), true],
    ['the same, if the simulation was unavailable before', preview([], [], 'unavailable'), preview([change('-5')]), false],
    ['different, if more is omitted', { ...preview(), omitted: 1 }, { ...preview(), omitted: 2 }, true],
    ['different, if nothing is received any more', preview([change('-5'), change('5', null)]), preview([change('-5')]), true],
    ['different, if more is spent', preview([change('-5')]), preview([change('-6')]), true],
    ['different, if another asset is spent', preview([change('-5')]), preview([change('-5'), change('-1', null)]), true],
    ['different, if more is allowed', preview([], [allowance('5')]), preview([], [allowance('6')]), true],
    ['different, if all is allowed', preview([], [allowance('5')]), preview([], [allowance(null)]), true],
    ['different, if another spender is allowed', preview([], [allowance('5')]), preview([], [allowance('5', TOKEN)]), true],
    ['different, if another token of a collection is allowed', preview([], [nft('0x1')]), preview([], [nft('0x2')]), true],
    ['the same, with the same token of a collection', preview([], [nft('0x1')]), preview([], [nft('0x1')]), false],
    ['different, if they succeed now and spend something', preview([], [], 'reverted'), preview([change('-5')]), true],
  ])('%s', (_, then, now, expected) => {
    expect(isWorse(then, now)).toBe(expected)
  })
})
