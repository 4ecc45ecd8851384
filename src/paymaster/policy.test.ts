import { describe, expect, it } from 'vitest'
import { Address, ENTRY_POINTS } from '../eth/index.ts'
import { API_KEY_CHARS, POLICIES, POLICY_ITEMS, POLICY_NAME_CHARS } from './limits.ts'
import { DEFAULT_POLICIES, decide, policyJson, refusal } from './policy.ts'
import { parsePolicies } from './policyschema.ts'
import type { PolicyInput, Decision, PolicyJson, Reason, Spent } from './policy.ts'

const SENDER = Address.from(`0x${'5e'.repeat(20)}`)
const OTHER = Address.from(`0x${'0e'.repeat(20)}`)
const COIN = Address.from(`0x${'c0'.repeat(20)}`)
const TRANSFER = { to: COIN, value: 0n, selector: '0xa9059cbb' } as const
const ETHER = { to: COIN, value: 1n, selector: null } as const
const NOON = Date.parse('2026-06-01T12:00:00Z') / 1_000

const ASK: PolicyInput = {
  chainId: 31_337,
  version: '0.8',
  entryPoint: ENTRY_POINTS['0.8'],
  sender: SENDER,
  nonce: 0n,
  calls: [TRANSFER],
  unreadable: null,
  apiKey: null,
  maxCost: 100n,
  now: NOON,
  policy: null,
}
const NOTHING: Spent = { total: 0n, today: 0n, user: 0n }

function decisionOf(policies: readonly Omit<PolicyJson, 'name'>[], input: Partial<PolicyInput> = {}, spent: Partial<Spent> = {}): Decision {
  const named = policies.map((policy, i) => ({ name: `p${i}`, ...policy }))
  return decide(parsePolicies(named), { ...ASK, ...input }, () => ({ ...NOTHING, ...spent }))
}

const granted = (decision: Decision) => (decision.isGranted ? decision.policy.name : decision.reason)

describe('a policy', () => {
  it('without limits grants every operation', () => {
    expect(granted(decide(parsePolicies(DEFAULT_POLICIES), ASK, () => NOTHING))).toBe('everything')
    expect(granted(decisionOf([{}], { calls: null, maxCost: 2n ** 200n }))).toBe('p0')
  })

  it.each<[Reason, Omit<PolicyJson, 'name'>, Partial<PolicyInput>, Partial<Spent>]>([
    ['chain', { chains: [1, 8453] }, {}, {}],
    ['entry-point', { entryPoints: [ENTRY_POINTS['0.6']] }, {}, {}],
    ['sender', { senders: [OTHER] }, {}, {}],
    ['api-key', { apiKeys: ['one', 'two'] }, {}, {}],
    ['api-key', { apiKeys: ['one', 'two'] }, { apiKey: 'three' }, {}],
    ['api-key', { apiKeys: ['one', 'two'] }, { apiKey: 'on' }, {}],
    ['api-key', { apiKeys: ['one', 'two'] }, { apiKey: '' }, {}],
    ['api-key', { apiKeys: ['x'.repeat(API_KEY_CHARS)] }, { apiKey: 'x'.repeat(API_KEY_CHARS + 1) }, {}],
    ['api-key', { apiKeys: [] }, { apiKey: 'one' }, {}],
    ['ended', { until: '2026-06-01T12:00:00Z' }, {}, {}],
    ['ended', { until: NOON - 1 }, {}, {}],
    ['unreadable-calls', { contracts: [{ address: COIN }] }, { calls: null }, {}],
    ['contract', { contracts: [{ address: OTHER }] }, {}, {}],
    ['contract', { contracts: [] }, {}, {}],
    ['contract', { contracts: [{ address: COIN }] }, { calls: [] }, {}],
    ['contract', { contracts: [{ address: COIN }] }, { calls: [TRANSFER, { ...TRANSFER, to: OTHER }] }, {}],
    ['contract', { contracts: [{ address: COIN, selectors: ['approve(address,uint256)'] }] }, {}, {}],
    ['contract', { contracts: [{ address: COIN, selectors: ['transfer(address,uint256)'] }] }, { calls: [ETHER] }, {}],
    ['contract', { contracts: [{ address: COIN, selectors: ['none'] }] }, {}, {}],
    ['contract', { contracts: [{ address: COIN, selectors: ['0xa9059cbb'] }] }, { calls: [{ ...TRANSFER, selector: '0xa9' }] }, {}],
    // Some accounts interpret the zero address as themselves.
    ['contract', { contracts: [{ address: Address.zero }] }, { calls: [{ ...TRANSFER, to: Address.zero }] }, {}],
    ['per-operation', { perOperation: '99' }, {}, {}],
    ['per-operation', { perOperation: '0' }, { maxCost: null }, {}],
    ['per-user', { perUser: '199' }, {}, { user: 100n }],
    ['per-day', { perDay: '199' }, {}, { today: 100n }],
    ['total', { total: '199' }, {}, { total: 100n }],
    ['total', { total: '199' }, { maxCost: null }, { total: 199n }],
    ['total', { total: '199' }, { maxCost: null }, { total: 500n }],
  ])('rejects with the reason %s (case %#)', (reason, policy, input, spent) => {
    const decision = decisionOf([policy], input, spent)
    expect(decision).toMatchObject({ isGranted: false, reason, policy: 'p0', reasons: [{ policy: 'p0', reason }] })
  })

  it.each<[Omit<PolicyJson, 'name'>, Partial<PolicyInput>, Partial<Spent>]>([
    [{ chains: [1, 31_337] }, {}, {}],
    [{ entryPoints: ['0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108'] }, {}, {}],
    [{ senders: [OTHER, `0x${'5E'.repeat(20)}`] }, {}, {}],
    [{ apiKeys: ['one', 'two'] }, { apiKey: 'two' }, {}],
    [{ until: '2026-06-01T12:00:01Z' }, {}, {}],
    [{ contracts: [{ address: COIN }] }, { calls: [TRANSFER, ETHER] }, {}],
    [{ contracts: [{ address: COIN, selectors: ['transfer(address,uint256)', 'none'] }] }, { calls: [TRANSFER, ETHER] }, {}],
    [
      { contracts: [{ address: COIN, selectors: ['0xA9059CBB'] }, { address: OTHER }] },
      { calls: [TRANSFER, { ...TRANSFER, to: OTHER }] },
      {},
    ],
    [{ perOperation: '100' }, {}, {}],
    [{ perUser: 200n }, {}, { user: 100n }],
    [{ perDay: '0xc8' }, {}, { today: 100n }],
    [{ total: '200' }, {}, { total: 100n }],
    [{ total: '101' }, { maxCost: null }, { total: 100n }],
  ])('grants at its limit (case %#)', (policy, input, spent) => {
    expect(granted(decisionOf([policy], input, spent))).toBe('p0')
  })

  it('states the remaining budget and its kind', () => {
    const decision = decisionOf([{ perDay: '250' }], {}, { today: 200n })
    expect(decision).toMatchObject({ message: 'policy "p0": the operation may cost 100 wei, 50 of 250 wei are left for today' })
  })

  it('does not read budgets for unauthorised requests', () => {
    const looked: string[] = []
    const policies = parsePolicies([{ name: 'mine', apiKeys: ['k'], total: '1', perUser: '1', perDay: '1' }])
    decide(policies, ASK, ({ name }) => (looked.push(name), NOTHING))
    expect(looked).toEqual([])
  })
})

describe('several policies', () => {
  it('are evaluated in order, and the first that grants wins', () => {
    expect(granted(decisionOf([{ senders: [OTHER] }, { perOperation: '100' }, {}]))).toBe('p1')
  })

  it('refuse with the reason of the policy with the most passed checks, and list the others', () => {
    const decision = decisionOf([{ chains: [1] }, { total: '1' }, { senders: [OTHER] }])
    expect(decision).toMatchObject({ reason: 'total', policy: 'p1' })
    expect(decision.isGranted ? [] : decision.reasons.map(({ policy, reason }) => [policy, reason])).toEqual([
      ['p0', 'chain'],
      ['p1', 'total'],
      ['p2', 'sender'],
    ])
  })

  it('can be selected by name, with the same checks', () => {
    const policies = [{ senders: [OTHER] }, {}] as const
    expect(granted(decisionOf(policies, { policy: 'p1' }))).toBe('p1')
    expect(granted(decisionOf(policies, { policy: 'p0' }))).toBe('sender')
    expect(decisionOf(policies, { policy: 'unknown' })).toMatchObject({
      reason: 'policy',
      policy: null,
      message: expect.stringContaining('"unknown"'),
    })
    expect(granted(decisionOf([]))).toBe('policy')
  })

  it('are not part of refusals with other causes', () => {
    expect(refusal('deposit-too-low', 'the deposit is empty')).toEqual({
      isGranted: false,
      reason: 'deposit-too-low',
      policy: null,
      message: 'the deposit is empty',
      reasons: [],
    })
  })
})

describe('policies as JSON', () => {
  it('are returned as configured, without the keys', () => {
    const [policy] = parsePolicies([
      {
        name: 'all',
        chains: [31_337, 1],
        entryPoints: [ENTRY_POINTS['0.7']],
        contracts: [{ address: COIN, selectors: ['transfer(address,uint256)', '0xA9059CBC', 'none'] }, { address: OTHER }],
        senders: [SENDER],
        apiKeys: ['secret one', 'secret two'],
        perOperation: '10',
        perUser: '0x14',
        perDay: 30n,
        total: '1000000000000000000',
        until: '2026-12-31T00:00:00Z',
      },
    ])
    const json = policy && policyJson(policy)
    expect(json).toEqual({
      name: 'all',
      chains: [31_337, 1],
      entryPoints: [Address.checksum(ENTRY_POINTS['0.7'])],
      contracts: [
        { address: Address.checksum(COIN), selectors: ['transfer(address,uint256)', '0xa9059cbc', 'none'] },
        { address: Address.checksum(OTHER) },
      ],
      senders: [Address.checksum(SENDER)],
      apiKeys: 2,
      perOperation: '0xa',
      perUser: '0x14',
      perDay: '0x1e',
      total: '0xde0b6b3a7640000',
      until: 1_798_675_200,
    })
    expect(JSON.stringify(json)).not.toContain('secret')
  })

  it('store no API key', () => {
    const [policy] = parsePolicies([{ name: 'p', apiKeys: ['a secret'] }])
    expect(Buffer.from(JSON.stringify(policy)).includes('a secret')).toBe(false)
    expect(policy?.apiKeys?.map((digest) => digest.length)).toEqual([32])
  })

  it('accept null for absent fields', () => {
    expect(policyJson(parsePolicies([{ name: 'p', chains: null, total: null, until: null }])[0]!)).toEqual({ name: 'p' })
  })

  const many = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `p${i}` }))
  it.each<[string, unknown, string]>([
    ['no list', { name: 'p' }, 'policies: expected an array, got an object'],
    ['too many', many(POLICIES + 1), `policies: ${POLICIES + 1} items, at most ${POLICIES}`],
    ['no object', [7], 'policies[0]: expected an object, got 7'],
    ['no name', [{}], 'policies[0].name: must be text'],
    ['a long name', [{ name: 'x'.repeat(POLICY_NAME_CHARS + 1) }], 'policies[0].name: must be text'],
    ['the same name twice', [{ name: 'a' }, { name: 'b' }, { name: 'a' }], 'policies[2].name: is the second policy "a"'],
    ['a limit with a slip', [{ name: 'p', perday: '1' }], 'policies[0].perday: is unknown; there are name, chains'],
    ['a chain that is none', [{ name: 'p', chains: [0] }], 'policies[0].chains[0]: must be a chain id'],
    ['an entry point that is none', [{ name: 'p', entryPoints: ['0.8'] }], 'policies[0].entryPoints[0]: must be an address'],
    ['a contract without address', [{ name: 'p', contracts: [{}] }], 'policies[0].contracts[0].address: must be an address'],
    [
      'a slip in a contract',
      [{ name: 'p', contracts: [{ address: COIN, selector: [] }] }],
      'policies[0].contracts[0].selector: is unknown',
    ],
    ['a selector that is none', [contractWith('transfer')], 'policies[0].contracts[0].selectors[0]: must be a function such as'],
    ['spaces in a signature', [contractWith('transfer(address, uint256)')], 'policies[0].contracts[0].selectors[0]: must be a function'],
    ['a short type', [contractWith('transfer(address,uint)')], 'policies[0].contracts[0].selectors[0]: has a type with a short name'],
    ['a short type in an array', [contractWith('f(int[],address)')], 'policies[0].contracts[0].selectors[0]: has a type with a short name'],
    ['a sender that is none', [{ name: 'p', senders: [SENDER, '0x5e'] }], 'policies[0].senders[1]: must be an address'],
    ['an empty key', [{ name: 'p', apiKeys: [''] }], 'policies[0].apiKeys[0]: must be text'],
    ['too many keys', [{ name: 'p', apiKeys: many(POLICY_ITEMS + 1) }], `policies[0].apiKeys: ${POLICY_ITEMS + 1} items`],
    ['an amount as number', [{ name: 'p', total: 1e18 }], 'policies[0].total: must be wei as text'],
    ['an amount below zero', [{ name: 'p', total: -1n }], 'policies[0].total: must be wei as text'],
    ['an amount in ether', [{ name: 'p', perDay: '0.1' }], 'policies[0].perDay: must be wei as text'],
    ['an amount beyond 256 bits', [{ name: 'p', perUser: 2n ** 256n }], 'policies[0].perUser: must be wei as text'],
    ['an end that is none', [{ name: 'p', until: 'tomorrow' }], 'policies[0].until: must be a date in ISO 8601'],
    ['an end on no day', [{ name: 'p', until: '2026-02-31T99:00:00Z' }], 'policies[0].until: must be a date in ISO 8601'],
    ['an end without a zone', [{ name: 'p', until: '2026-02-01T10:00' }], 'policies[0].until: must be a date in ISO 8601'],
    ['an end in milliseconds', [{ name: 'p', until: Date.parse('2026-12-31') }], 'policies[0].until: must be a date in ISO 8601'],
  ])('are rejected with their path: %s', (_, value, message) => {
    expect(() => parsePolicies(value)).toThrow(RangeError)
    expect(() => parsePolicies(value)).toThrow(message)
  })
})

function contractWith(selector: string) {
  return { name: 'p', contracts: [{ address: COIN, selectors: [selector] }] }
}
